"""The OpenAPI v2 document that the server serves at /openapi/v2, for older clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubewright.cluster.schema._builtin import builtin_group_versions, definition, definition_names, version
from kubewright.cluster.schema._openapi3 import CustomKind, custom_definitions, items_of, served
from kubewright.cluster.schema._operations import Operation, Parameter, PathItem

__all__ = ["openapi_v2"]

_V3: Final = "#/components/schemas/"
_V2: Final = "#/definitions/"
# Keywords that OpenAPI v2 does not have.
_UNKNOWN: Final = frozenset(("nullable", "oneOf", "anyOf", "not", "allOf", "x-go"))
_TEXTS: Final = frozenset(
    ("io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.util.intstr.IntOrString")
)
_PATCHES: Final = ("application/json-patch+json", "application/merge-patch+json")


def openapi_v2(custom: Iterable[CustomKind] = ()) -> dict[str, Any]:
    """Returns the document of all served kinds."""
    added = list(custom)
    definitions: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for group_version in dict.fromkeys([*builtin_group_versions(), *(each.group_version for each in added)]):
        for name in definition_names(group_version):
            if name not in definitions:
                definitions[name] = _definition(name)
        own = [each for each in added if each.group_version == group_version]
        for each in own:
            definitions |= {name: _schema(source) for name, source in custom_definitions(each).items()}
        paths |= {item.path: _path(item) for item in items_of(group_version, own)}
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": f"v{version()}"},
        "paths": paths,
        "definitions": dict(sorted(definitions.items())),
    }


def _definition(name: str) -> dict[str, Any]:
    schema = _schema(served(definition(name)))
    return schema | {"type": "string"} if name in _TEXTS else schema


def _schema(source: dict[str, Any]) -> dict[str, Any]:
    several = source.get("allOf")
    if isinstance(several, list) and len(several) == 1 and "$ref" in several[0]:
        source = {**source, "$ref": several[0]["$ref"]}
    result: dict[str, Any] = {}
    for key, value in source.items():
        if key == "properties":
            result[key] = {name: _schema(each) for name, each in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            result[key] = _schema(value)
        elif key == "$ref":
            result[key] = value.replace(_V3, _V2)
        elif key not in _UNKNOWN and (key != "default" or "$ref" not in source):
            result[key] = value
    return result


def _path(item: PathItem) -> dict[str, Any]:
    result: dict[str, Any] = {operation.method: _operation(operation) for operation in item.operations}
    return result | {"parameters": [_parameter(each) for each in (*item.parameters, Parameter("pretty", "query"))]}


def _operation(operation: Operation) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [_parameter(each) for each in operation.parameters]
    if operation.body:
        required = {} if operation.method == "delete" else {"required": True}
        parameters.insert(0, {"name": "body", "in": "body", **required, "schema": {"$ref": _V2 + operation.body}})
    answer = {"schema": {"$ref": _V2 + operation.answer}} if operation.answer else {}
    consumes = ["*/*"]
    if operation.action == "patch":
        consumes = [*_PATCHES, *(["application/strategic-merge-patch+json"] if operation.strategic else [])]
        consumes.append("application/apply-patch+yaml")
    return {
        "consumes": consumes,
        "produces": ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"],
        "parameters": parameters,
        "responses": {str(code): {"description": "OK", **answer} for code in operation.codes},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.kind,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    required = {"required": True} if parameter.location == "path" else {}
    return {"name": parameter.name, "in": parameter.location, **required, "type": parameter.type, "uniqueItems": True}
