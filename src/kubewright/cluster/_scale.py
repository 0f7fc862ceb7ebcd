"""The scale subresource: the number of replicas of any kind that has one, as a `Scale` of autoscaling/v1."""

from __future__ import annotations

from typing import Any

from kubewright.api import Selector, SelectorError
from kubewright.cluster._answers import Answer, encode
from kubewright.cluster._bodies import decode_body, media_type_of
from kubewright.cluster._calls import Call
from kubewright.cluster._failures import Failure, bad_request, not_found, unsupported
from kubewright.cluster._field_errors import FieldError, invalid
from kubewright.cluster._kinds import JSONObject, ResourceType, Subresource, UnreadableObject
from kubewright.cluster._managing import manager_name_of, refusal
from kubewright.cluster._patches import APPLY, PATCHES, patched_document
from kubewright.cluster._state import State
from kubewright.cluster._storage import Entry
from kubewright.cluster._typed import reader_of
from kubewright.cluster._views import decoded
from kubewright.cluster._writes import update_object

__all__ = ["get_scale", "write_scale"]

_SCALE = "autoscaling/v1.Scale"


def get_scale(state: State, call: Call) -> Answer:
    """GET of the Scale."""
    found = _found(state, call)
    return Answer(encode(scale_of(call.type, call.type.subresources["scale"], decoded(call.type, found))))


def _found(state: State, call: Call) -> Entry:
    found = state.storage.get(call.type.storage, call.namespace, call.name)
    if found is None:
        raise not_found(call.type, call.name)
    return found


def write_scale(state: State, call: Call) -> Answer:
    """PUT or PATCH of the Scale: changes the replicas of its parent, and nothing else."""
    type_, sub = call.type, call.type.subresources["scale"]
    call.check_options()
    found = _found(state, call)
    old = decoded(type_, found)
    scale = scale_of(type_, sub, old)
    if call.verb == "update":
        given = decode_body(state, call, None)
    else:
        media_type = media_type_of(call)
        if media_type in APPLY:
            raise unsupported("server-side apply to the scale subresource")
        kind = PATCHES.get(media_type)
        if kind is None or (kind == "strategic" and type_.custom):
            raise Failure(415, "UnsupportedMediaType", f"the patch type {media_type} is not supported for a scale")
        given = patched_document(state, call, kind, scale, schema=_scale_schema())
    wanted = _read(given)
    errors = _errors(wanted)
    if errors:
        causes = [{"reason": error.reason, "message": error.message, "field": error.field} for error in errors]
        text = f'Scale.autoscaling "{call.name}" is invalid: {errors[0]}'
        raise Failure(
            422, "Invalid", text, {"name": call.name, "group": "autoscaling", "kind": "Scale", "causes": causes}
        )
    replicas = (wanted.get("spec") or {}).get("replicas", 0)
    obj = decoded(type_, found)
    _set(obj, sub.spec_replicas, replicas)
    obj["metadata"]["resourceVersion"] = wanted["metadata"].get("resourceVersion", "")
    if not obj["metadata"]["resourceVersion"]:
        del obj["metadata"]["resourceVersion"]
    made = _manage(state, call, sub, old, obj)
    stored = update_object(state, call, made, found, old, managed=True)
    shown = decoded(type_, stored) if isinstance(stored, Entry) else stored
    return Answer(encode(scale_of(type_, sub, shown)), warnings=call.warnings)


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


def _manage(state: State, call: Call, sub: Subresource, old: JSONObject, obj: JSONObject) -> JSONObject:
    """Let whoever writes the Scale own the parent's replicas."""
    from kubewright.cluster.merge import FieldManager, Refused, parent_managed_fields, scale_managed_fields

    path = tuple(sub.spec_replicas.strip(".").split("."))
    mappings = {type_.api_version: path for type_ in state.types.stored_as(call.type.storage)}
    entries = old["metadata"].get("managedFields") or []
    before, after = scale_of(call.type, sub, old), scale_of(call.type, sub, obj)
    before["metadata"]["managedFields"] = scale_managed_fields(entries, mappings)
    manager = FieldManager("autoscaling/v1", "Scale", schema_of=lambda _: _scale_schema(), subresource="scale")
    try:
        managed = manager.update(before, after, manager_name_of(call), state.now())
    except Refused as error:
        raise refusal(error, call.type, call.name) from None
    scale_entries = managed["metadata"].get("managedFields") or []
    merged = parent_managed_fields(entries, scale_entries, mappings, call.type.api_version)
    return {**obj, "metadata": {**obj["metadata"], "managedFields": merged}}


def scale_of(type_: ResourceType, sub: Subresource, obj: JSONObject) -> JSONObject:
    """The Scale of an object."""
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
    """A selector as text: of a LabelSelector, of plain labels, or text already."""
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
