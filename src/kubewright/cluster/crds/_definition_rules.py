"""Validation of definitions with the messages of the real server, and rejection of unsupported features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubewright.cluster.admission import bundle_errors, service_errors, url_errors
from kubewright.cluster.crds._schema_rules import schema_errors
from kubewright.cluster.crds._selectable_fields import selectable_field_errors
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.columns import PathError, parse_path
from kubewright.names import label_1035_problems, subdomain_problems

__all__ = ["definition_errors", "definition_update_errors"]

_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_APPROVAL: Final = "api-approved.kubernetes.io"
_POLICY: Final = "https://github.com/kubernetes/enhancements/pull/1111"


def definition_errors(definition: JSONObject) -> list[FieldError]:
    """Validates a new definition."""
    return [
        *_name(definition),
        *_spec(definition["spec"]),
        *_stored(definition),
        *_approval(definition),
    ]


def definition_update_errors(definition: JSONObject, old: JSONObject) -> list[FieldError]:
    """Validates a changed definition."""
    spec, before = definition["spec"], old["spec"]
    found = [*_spec(spec), *_stored(definition)]
    if _is_established(old):
        found += _kept("spec.scope", spec.get("scope"), before.get("scope"))
        found += _kept("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind"))
    found += _kept("spec.group", spec.get("group"), before.get("group"))
    found += _kept("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural"))
    return found


def _kept(path: str, value: Any, before: Any) -> list[FieldError]:
    return [] if value == before else [invalid(path, value, "field is immutable")]


def _is_established(definition: JSONObject) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


# Names


def _name(definition: JSONObject) -> Iterator[FieldError]:
    spec, name = definition["spec"], definition["metadata"].get("name", "")
    if name and name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _names(names: JSONObject) -> Iterator[FieldError]:
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    for field in ("plural", "singular"):
        if names.get(field) and (problems := label_1035_problems(names[field])):
            yield invalid(f"spec.names.{field}", names[field], ",".join(problems))
    for field in ("kind", "listKind"):
        if names.get(field) and (problems := label_1035_problems(names[field].lower())):
            text = "may have mixed case, but should otherwise match: " + ",".join(problems)
            yield invalid(f"spec.names.{field}", names[field], text)
    for field in ("shortNames", "categories"):
        for number, name in enumerate(names.get(field) or ()):
            if problems := label_1035_problems(name):
                yield invalid(f"spec.names.{field}[{number}]", name, ",".join(problems))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")


def _approval(definition: JSONObject) -> Iterator[FieldError]:
    group = definition["spec"].get("group", "")
    if not group.endswith((".k8s.io", ".kubernetes.io")) and group not in ("k8s.io", "kubernetes.io"):
        return
    path = f"metadata.annotations[{_APPROVAL}]"
    approval = (definition["metadata"].get("annotations") or {}).get(_APPROVAL, "")
    if not approval:
        yield required(path, f'protected groups must have approval annotation "{_APPROVAL}", see {_POLICY}')
    elif not approval.startswith("unapproved") and "://" not in approval:
        text = f'"{_APPROVAL}" with either a URL or a reason starting with "unapproved", see {_POLICY}'
        yield invalid(path, approval, f"protected groups must have approval annotation {text}")


# Spec and versions


def _spec(spec: JSONObject) -> Iterator[FieldError]:
    group = spec.get("group", "")
    if not group:
        yield required("spec.group")
    elif problems := subdomain_problems(group):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield not_supported("spec.scope", scope, ["Cluster", "Namespaced"])
    versions = spec.get("versions") or []
    for number, version in enumerate(versions):
        path = f"spec.versions[{number}]"
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield required(f"{path}.schema.openAPIV3Schema")
    for number, version in enumerate(versions):
        name = version.get("name", "")
        if problems := label_1035_problems(name):
            yield invalid(f"spec.versions[{number}].name", name, ",".join(problems))
            if number == 0:
                yield invalid("spec.version", name, ",".join(problems))
        yield from _deprecation(version, f"spec.versions[{number}]")
    yield from _versions(versions)
    names = [version.get("name") for version in versions]
    if len(set(names)) < len(names):
        yield invalid("spec.versions", versions, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", versions, "must have exactly one version marked as storage version")
    yield from _names(spec["names"])
    yield from _conversion(spec.get("conversion") or {})
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, text)


def _conversion(conversion: JSONObject) -> Iterator[FieldError]:
    """Validates the conversion. The server names the fields as in its internal version."""
    path, strategy, webhook = "spec.conversion", conversion.get("strategy") or "", conversion.get("webhook")
    if not strategy:
        yield required(f"{path}.strategy")
    elif strategy not in ("None", "Webhook"):
        yield not_supported(f"{path}.strategy", strategy, ["None", "Webhook"])
    config, versions = (webhook or {}).get("clientConfig"), (webhook or {}).get("conversionReviewVersions") or []
    config_path = f"{path}.webhookClientConfig"
    if strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        if config is not None:
            yield forbidden(config_path, text)
        if versions:
            yield forbidden(f"{path}.conversionReviewVersions", text)
        return
    if config is None:
        yield required(config_path, "required when strategy is set to Webhook")
    else:
        url, service = config.get("url"), config.get("service")
        if (url is None) == (service is None):
            yield required(config_path, "exactly one of url or service is required")
        elif url is not None:
            yield from url_errors(url, f"{config_path}.url")
        elif service is not None:
            yield from service_errors(service, f"{config_path}.service")
        yield from bundle_errors(config.get("caBundle"), f"{config_path}.caBundle")
    yield from _review_versions(versions, f"{path}.conversionReviewVersions")


def _review_versions(versions: list[str], path: str) -> Iterator[FieldError]:
    if not versions:
        yield required(path)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        yield from (invalid(f"{path}[{index}]", version, problem) for problem in label_1035_problems(version))
    if not {*versions} & {*_REVIEW_VERSIONS}:
        yield invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}")


def _deprecation(version: JSONObject, path: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is not None and not version.get("deprecated"):
        yield invalid(f"{path}.deprecationWarning", warning, "can only be set for deprecated versions")


def _versions(versions: list[JSONObject]) -> Iterator[FieldError]:
    """Validates the versions. The server reports fields that are equal in all versions as top-level fields."""
    for path, schema, version in _placed(versions, "schema", above="spec.validation"):
        with_status = "status" in (version.get("subresources") or {})
        if schema.get("openAPIV3Schema"):
            yield from schema_errors(schema["openAPIV3Schema"], f"{path}.openAPIV3Schema", with_status=with_status)
    for path, subresources, _ in _placed(versions, "subresources"):
        yield from _scale(subresources.get("scale"), f"{path}.scale")
    for path, columns, _ in _placed(versions, "additionalPrinterColumns"):
        for number, column in enumerate(columns):
            yield from _column(column, f"{path}[{number}]")
    yield from selectable_field_errors(versions)


def _placed(versions: list[JSONObject], key: str, above: str = "") -> Iterator[tuple[str, Any, JSONObject]]:
    """Yields the path and value of a field in each version, with the version."""
    values = [version.get(key) for version in versions]
    if versions and values[0] and all(value == values[0] for value in values):
        yield above or f"spec.{key}", values[0], versions[0]
        return
    for number, version in enumerate(versions):
        if values[number]:
            yield f"spec.versions[{number}].{key}", values[number], version


def _scale(scale: JSONObject | None, path: str) -> Iterator[FieldError]:
    if scale is None:
        return
    both = "either .spec or .status"
    for field, where in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status"), ("labelSelectorPath", both)):
        value = scale.get(field)
        roots = (".spec.", ".status.") if where == both else (f"{where}.",)
        if not value:
            if field != "labelSelectorPath":
                yield required(f"{path}.{field}")
        elif problem := _path_problem(value):
            yield invalid(f"{path}.{field}", value, problem)
        elif not value.startswith(roots):
            yield invalid(f"{path}.{field}", value, f"should be a json path under {where}")


def _column(column: JSONObject, path: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield required(f"{path}.name")
    type_, format_ = column.get("type") or "", column.get("format") or ""
    if not type_:
        yield required(f"{path}.type", f"must be one of {','.join(_COLUMN_TYPES)}")
    elif type_ not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", type_, f"must be one of {','.join(_COLUMN_TYPES)}")
    if format_ and format_ not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", format_, f"must be one of {','.join(_COLUMN_FORMATS)}")
    where = column.get("jsonPath") or ""
    if not where:
        yield required(f"{path}.JSONPath")
    elif problem := _path_problem(where):
        yield invalid(f"{path}.JSONPath", where, problem)


def _path_problem(path: str) -> str:
    if not path.startswith("."):
        return "must be a simple json path starting with ."
    try:
        parse_path(path)
    except PathError as error:
        return str(error)
    return ""


def _stored(definition: JSONObject) -> Iterator[FieldError]:
    stored = (definition.get("status") or {}).get("storedVersions") or []
    if not stored:
        yield invalid("status.storedVersions", stored, "must have at least one stored version")
        return
    known = {version.get("name") for version in definition["spec"].get("versions") or ()}
    for version in definition["spec"].get("versions") or ():
        if version.get("storage") and version.get("name") not in stored:
            yield invalid("status.storedVersions", stored, f"must have the storage version {version['name']}")
    for number, name in enumerate(stored):
        if name not in known:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield invalid(f"status.storedVersions[{number}]", name, text)
