"""The scale subresource: the replicas of an object as a `Scale` of autoscaling/v1."""

from __future__ import annotations

from functools import partial
from typing import Any

from kubewright.api import Selector, SelectorError
from kubewright.cluster._state import State
from kubewright.cluster.admission import attributes_of
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, bad_request, conflict, invalid_options, not_found
from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._go_types import reader_of
from kubewright.cluster.machinery._resources import JSONObject, ResourceType, Subresource, UnreadableObject
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.output._format import output_format
from kubewright.cluster.registry._decoding import decode_body, media_type_of
from kubewright.cluster.registry._field_managers import manager_name_of, merge_failure
from kubewright.cluster.registry._patch import APPLY, PATCHES, applied_config, patched_document
from kubewright.cluster.registry._store import check_path
from kubewright.cluster.registry._update import update_object
from kubewright.cluster.storage._storage import Entry

__all__ = ["get_scale", "write_scale"]

_SCALE = "autoscaling/v1.Scale"


def get_scale(state: State, call: Call) -> ApiResponse:
    """Handles GET of the Scale."""
    output, found = output_format(call), _found(state, call)
    scale = scale_of(call.type, call.type.subresources["scale"], decoded(call.type, found))
    return ApiResponse(output.encode_object(state, scale))


def _found(state: State, call: Call) -> Entry:
    found = state.storage.get(call.type.storage, call.namespace, call.name)
    if found is None:
        raise not_found(call.type, call.name)
    return found


async def write_scale(state: State, call: Call) -> ApiResponse:
    """Handles PUT, PATCH or apply of the Scale: changes only the replicas of the parent."""
    type_, sub = call.type, call.type.subresources["scale"]
    call.check_options()
    applies = call.verb == "patch" and media_type_of(call) in APPLY
    if applies and not call.query.get("fieldManager"):
        raise invalid_options("PatchOptions", [required("fieldManager", "is required for apply patch")])
    found = _found(state, call)
    config = applied_config(call, "autoscaling/v1", "Scale") if applies else None
    old = decoded(type_, found)
    mappings = _mappings(state, call, sub)
    scale = scale_of(type_, sub, old)
    entries = scale_managed_fields_of(old, mappings)
    given = None if applies else _given(state, call, scale)
    before = {**scale, "metadata": {**scale["metadata"], "managedFields": entries}}
    wanted = _managed(state, call, before, given, config)
    check_path(call, wanted)
    attributes = attributes_of(call, "UPDATE", {**wanted, "kind": "Scale", "apiVersion": "autoscaling/v1"}, scale)
    await state.admission.mutate(attributes)
    assert attributes.object is not None
    wanted = attributes.object
    _check(call, wanted, old)
    obj = decoded(type_, found)
    _set(obj, sub.spec_replicas, (wanted.get("spec") or {}).get("replicas", 0))
    obj["metadata"] = _parent_metadata(call, obj["metadata"], wanted["metadata"], mappings)
    represent = partial(scale_of, type_, sub)
    stored = await update_object(state, call, obj, found, old, managed=True, representation=represent)
    scale = represent(decoded(type_, stored) if isinstance(stored, Entry) else stored)
    return ApiResponse(output_format(call).encode_object(state, scale), warnings=call.warnings)


def _given(state: State, call: Call, scale: JSONObject) -> JSONObject:
    """Returns the Scale in the body, or the result of the patch in it."""
    if call.verb == "update":
        return _read(decode_body(state, call, None))
    media_type = media_type_of(call)
    kind = PATCHES.get(media_type)
    if kind is None or (kind == "strategic" and call.type.custom):
        raise Failure(415, "UnsupportedMediaType", f"the patch type {media_type} is not supported for a scale")
    return _read(patched_document(state, call, kind, scale, schema=_scale_schema()))


def _check(call: Call, scale: JSONObject, old: JSONObject) -> None:
    errors = _errors(scale)
    if errors:
        causes = [{"reason": error.reason, "message": error.message, "field": error.field} for error in errors]
        text = f'Scale.autoscaling "{call.name}" is invalid: {errors[0]}'
        raise Failure(
            422, "Invalid", text, {"name": call.name, "group": "autoscaling", "kind": "Scale", "causes": causes}
        )
    uid = scale["metadata"].get("uid")
    if uid and uid != old["metadata"]["uid"]:
        text = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
        raise conflict(call.type, call.name, text)


def _scale_schema() -> Any:
    from kubewright.cluster.schema import builtin_schema

    return builtin_schema("autoscaling/v1", "Scale")


def _read(given: JSONObject) -> JSONObject:
    try:
        made: JSONObject = reader_of(_SCALE)(given, "", None)
    except UnreadableObject as error:
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {error}') from None
    return made


def _errors(scale: JSONObject) -> list[FieldError]:
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        return [invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
    return []


def _mappings(state: State, call: Call, sub: Subresource) -> dict[str, tuple[str, ...]]:
    """Returns the path of the replicas in each version of the parent."""
    paths = {
        type_.api_version: (type_.subresources.get("scale") or sub).spec_replicas
        for type_ in state.types.stored_as(call.type.storage)
    }
    return {version: tuple(path.strip(".").split(".")) for version, path in paths.items()}


def _managed(
    state: State, call: Call, before: JSONObject, given: JSONObject | None, config: JSONObject | None
) -> JSONObject:
    """Returns the Scale after an update to `given` or an apply of `config`, with the managed fields of its replicas."""
    from kubewright.cluster.merge import FieldManager, Refused

    manager = FieldManager("autoscaling/v1", "Scale", schema_of=lambda _: _scale_schema(), subresource="scale")
    name, now = manager_name_of(call), state.now()
    try:
        if config is not None:
            return _read(manager.apply(before, config, name, now, force=call.flag("force")))
        assert given is not None
        return manager.update(before, given, name, now)
    except Refused as error:
        raise merge_failure(error, call.type, call.name) from None


def _parent_metadata(call: Call, parent: JSONObject, scale: JSONObject, mappings: Any) -> JSONObject:
    """Returns the parent's metadata after a write to its Scale: managed fields and resourceVersion."""
    from kubewright.cluster.merge import parent_managed_fields

    entries = parent.get("managedFields") or []
    merged = parent_managed_fields(entries, scale.get("managedFields") or [], mappings, call.type.api_version)
    made = {**parent, "managedFields": merged}
    del made["resourceVersion"]
    return made | ({"resourceVersion": scale["resourceVersion"]} if scale.get("resourceVersion") else {})


def scale_managed_fields_of(parent: JSONObject, mappings: Any) -> list[JSONObject]:
    """Returns the managed fields of a Scale, from those of its parent."""
    from kubewright.cluster.merge import scale_managed_fields

    return scale_managed_fields(parent["metadata"].get("managedFields") or [], mappings)


def scale_of(type_: ResourceType, sub: Subresource, obj: JSONObject) -> JSONObject:
    """Returns the Scale of an object."""
    metadata = obj["metadata"]
    shown = {
        name: metadata[name]
        for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if name in metadata
    }
    spec: JSONObject = {}
    if replicas := _at(obj, sub.spec_replicas):
        spec["replicas"] = replicas
    status: JSONObject = {"replicas": _at(obj, sub.status_replicas) or 0}
    if selector := _selector_text(_at(obj, sub.label_selector) if sub.label_selector else None):
        status["selector"] = selector
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": shown, "spec": spec, "status": status}


def _selector_text(selector: Any) -> str:
    """Returns a selector as a string: from a LabelSelector, plain labels, or a string."""
    if isinstance(selector, str) or not selector:
        return selector or ""
    if not {"matchLabels", "matchExpressions"} & set(selector):
        return str(Selector.from_labels(selector))
    from kubewright.api import from_dict
    from kubewright.api.meta.v1 import LabelSelector

    try:
        return str(Selector.from_label_selector(from_dict(LabelSelector, selector)))
    except SelectorError:
        return ""


def _at(obj: Any, path: str) -> Any:
    for part in path.strip(".").split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def _set(obj: JSONObject, path: str, value: Any) -> None:
    *parents, last = path.strip(".").split(".")
    for part in parents:
        obj = obj.setdefault(part, {})
    obj[last] = value
