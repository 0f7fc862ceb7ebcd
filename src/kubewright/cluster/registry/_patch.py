"""Patch and apply: computes the new object from the stored one and the body."""

from __future__ import annotations

from typing import Any, Final

from kubewright.cluster._state import State
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.conversion._webhook import retry_converting
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import (
    Failure,
    bad_request,
    conflict,
    invalid_options,
    name_mismatch,
    not_found,
    unsupported_media_type,
)
from kubewright.cluster.machinery._field_errors import forbidden, required
from kubewright.cluster.machinery._json import UnreadableJSON, decode_json
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.registry._create import create_object
from kubewright.cluster.registry._decoding import (
    UnreadableYAML,
    bad_patch,
    check_size,
    decode_yaml,
    fit_to_schema,
    json_name,
    media_type_of,
)
from kubewright.cluster.registry._field_managers import manager_name_of, manager_of, merge_failure
from kubewright.cluster.registry._store import check_path, check_path_namespace, object_response
from kubewright.cluster.registry._update import update_object

__all__ = ["APPLY", "PATCHES", "applied_config", "apply", "patch", "patched_document"]

APPLY: Final = ("application/apply-patch+yaml", "application/apply-patch+cbor")
PATCHES: Final = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
}
_SCHEME: Final = "pkg/runtime/scheme.go:111"
_CUSTOM_PATCHES: Final = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"


async def patch(state: State, call: Call) -> ApiResponse:
    """Handles PATCH: JSON Patch, merge patch, strategic merge patch, or server-side apply."""
    check_size(call)
    media_type = media_type_of(call)
    if media_type == APPLY[0]:
        return await apply(state, call)
    kind = PATCHES.get(media_type)
    if kind is None or (kind == "strategic" and call.type.custom):
        if call.type.custom:
            raise unsupported_media_type(_CUSTOM_PATCHES)
        raise Failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    call.check_options()
    if "force" in call.query:
        error = forbidden("force", "may not be specified for non-apply patch")
        raise invalid_options("PatchOptions", [error])
    found = state.storage.get(call.type.storage, call.namespace, call.name)
    if found is None:
        raise not_found(call.type, call.name)
    patched = patched_document(state, call, kind, decoded(call.type, found))
    quoted = None
    if kind == "strategic":
        from kubewright.cluster.merge import go_format

        quoted = go_format(_patch_body(call))
    else:
        _check_patched_kind(call.type, patched)
    obj = fit_to_schema(call, call.type, patched, patched=True, quoted=quoted)
    _check_patched(call, obj)
    return object_response(state, call, await update_object(state, call, obj, found, decoded(call.type, found)), 200)


def patched_document(state: State, call: Call, kind: str, document: JSONObject, *, schema: Any = None) -> JSONObject:
    """Returns the document after the patch in the body."""
    from kubewright.cluster.merge import Refused, json_patch, merge_patch, strategic_merge_patch

    try:
        if kind == "json":
            made = json_patch(document, call.request.body or b"", untyped=call.type.custom)
        elif kind == "merge":
            made = merge_patch(document, _patch_body(call, "error decoding patch: "))
        else:
            made = strategic_merge_patch(document, _patch_body(call), schema or call.type.schema())
    except Refused as error:
        raise merge_failure(error, call.type, call.name) from None
    if not isinstance(made, dict):
        raise bad_request("the patch leaves something that is not an object")
    made.setdefault("metadata", {})
    return made


def _patch_body(call: Call, prefix: str = "") -> JSONObject:
    try:
        body = decode_json(call.request.body or b"", untyped=call.type.custom)
    except UnreadableJSON as error:
        raise bad_request(f"{prefix}{error}") from None
    if body is None:
        if prefix:
            raise bad_request("Invalid JSON Patch")
        return {}
    if not isinstance(body, dict):
        raise bad_request(f"{prefix}{_not_an_object(body)}")
    return body


def _not_an_object(value: Any) -> str:
    return f"json: cannot unmarshal {json_name(value)} into Go value of type map[string]interface {{}}"


def _check_patched_kind(type_: ResourceType, obj: JSONObject) -> None:
    """Rejects a patch that changes the kind or the version of a built-in object."""
    version, kind = obj.get("apiVersion", type_.api_version), obj.get("kind", type_.kind)
    if not type_.custom and isinstance(kind, str) and (version, kind) != (type_.api_version, type_.kind):
        raise bad_patch(obj, f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"')


def _check_patched(call: Call, obj: JSONObject) -> None:
    metadata = obj["metadata"]
    if metadata.get("name", "") != call.name:
        raise name_mismatch(metadata.get("name", ""), call.name)
    check_path_namespace(call, obj)


# Apply


async def apply(state: State, call: Call) -> ApiResponse:
    """Handles server-side apply: creates the object, or changes the manager's fields to the applied configuration."""
    from kubewright.cluster.merge import Refused

    type_ = call.type
    call.check_options()
    if not call.query.get("fieldManager"):
        error = required("fieldManager", "is required for apply patch")
        raise invalid_options("PatchOptions", [error])
    config = applied_config(call, type_.api_version, type_.kind)
    found = state.storage.get(type_.storage, call.namespace, call.name)
    live = None if found is None else decoded(type_, found)
    if live is None and call.subresource:
        raise not_found(type_, call.name)
    manager = manager_of(state, type_, call.subresource)
    try:
        made = await retry_converting(
            lambda: manager.apply(live, config, manager_name_of(call), state.now(), force=call.flag("force"))
        )
    except Refused as error:
        raise merge_failure(error, type_, call.name) from None
    if not made["metadata"].get("name"):  # an existing object has one, also if the configuration has none
        raise name_mismatch("", call.name)
    check_path(call, made)
    _check_duplicates(call)
    obj = fit_to_schema(call, type_, made)
    if found is None or live is None:
        if not call.dry_run:
            obj["metadata"].pop("resourceVersion", None)
        if obj["metadata"].get("uid"):
            text = "and no existing object was found"
            uid = obj["metadata"]["uid"]
            raise conflict(type_, call.name, f"uid mismatch: the provided object specified uid {uid}, {text}")
        return object_response(state, call, await create_object(state, call, obj), 201)
    return object_response(state, call, await update_object(state, call, obj, found, live, managed=True), 200)


def _check_duplicates(call: Call) -> None:
    """Warns of duplicate fields in an applied configuration, or rejects them."""
    from kubewright.cluster.machinery._duplicate_fields import duplicate_fields
    from kubewright.yaml import duplicate_keys

    text = call.request.body or b""
    if call.field_validation == "Ignore" or (text.lstrip()[:1] == b"{" and not duplicate_fields(text)):
        return  # most configurations are JSON, which is decoded much faster
    lines = duplicate_keys(text)
    if not lines:
        return
    problem = "\n  ".join(["error converting YAML to JSON: yaml: unmarshal errors:", *lines])
    if call.field_validation == "Strict":
        raise bad_request(f"error strict decoding YAML: {problem}")
    call.warnings += lines


def applied_config(call: Call, api_version: str, kind: str) -> JSONObject:
    """Returns the applied configuration, validated but without defaults, because the manager owns only what it says."""
    try:
        config = decode_yaml(call, untyped=call.type.custom)
    except UnreadableYAML as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if config is None:
        config = {}
    if not isinstance(config, dict):
        prefix = "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
        raise bad_request(f"{prefix}{_not_an_object(config)}")
    if config.get("apiVersion") != api_version or config.get("kind") != kind:
        version, given = config.get("apiVersion") or "", config.get("kind") or ""
        raise bad_request(f"invalid object type: {version if '/' in version else f'/{version}'}, Kind={given}")
    metadata = config.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise bad_request("error decoding YAML: the metadata of the applied configuration is not an object")
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    return config
