"""Delete and deletecollection: preconditions, grace periods, finalizers, and propagation to dependents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from kubewright.api import format_time, parse_time
from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, attributes_of
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.conversion._webhook import convert_entries
from kubewright.cluster.machinery._calls import Call, dry_run_errors
from kubewright.cluster.machinery._failures import bad_request, conflict, forbidden, invalid_options, not_found
from kubewright.cluster.machinery._field_errors import FieldError, invalid, not_supported
from kubewright.cluster.machinery._go_types import reader_of
from kubewright.cluster.machinery._resources import JSONObject, ResourceType, UnreadableObject
from kubewright.cluster.machinery._responses import ApiResponse, encode
from kubewright.cluster.machinery._work_budget import PROCESSED, WorkBudget
from kubewright.cluster.output._format import output_format
from kubewright.cluster.output._lists import encode_list
from kubewright.cluster.registry._decoding import decode_body
from kubewright.cluster.registry._read import select
from kubewright.cluster.registry._scheme import check_delete_options
from kubewright.cluster.registry._store import store
from kubewright.cluster.storage._storage import Entry, RevisionConflict

__all__ = [
    "DeleteOptions",
    "admit_deletion",
    "check_preconditions",
    "delete",
    "delete_collection",
    "delete_object",
    "deletion_attributes",
    "read_options",
]

_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_UNDELETABLE_NAMESPACES: Final = ("default", "kube-system", "kube-public")
_OWN_PRECONDITIONS: Final = ("namespaces", "customresourcedefinitions.apiextensions.k8s.io")
_POLICIES: Final = ("Foreground", "Background", "Orphan")


@dataclass(slots=True)
class DeleteOptions:
    """The options of a delete. Default: those of the kind."""

    grace: int | None = None
    policy: str | None = None
    orphan: bool | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False

    def shown(self) -> JSONObject:
        """Returns the options as an object of `meta.k8s.io`, for admission."""
        preconditions = {"uid": self.uid, "resourceVersion": self.resource_version}
        made: JSONObject = {
            "kind": "DeleteOptions",
            "apiVersion": "meta.k8s.io/v1",
            "gracePeriodSeconds": self.grace,
            "preconditions": {name: value for name, value in preconditions.items() if value is not None} or None,
            "orphanDependents": self.orphan,
            "propagationPolicy": self.policy,
            "dryRun": ["All"] if self.dry_run else None,
        }
        return {name: value for name, value in made.items() if value is not None}


def read_options(state: State, call: Call) -> DeleteOptions:
    """Returns the DeleteOptions of the body, or of the query if there is no body."""
    given = _body_options(state, call) if call.request.body else _query_options(call)
    preconditions = given.get("preconditions") or {}
    dry_run = given.get("dryRun") or []
    made = DeleteOptions(
        grace=given.get("gracePeriodSeconds"),
        policy=given.get("propagationPolicy"),
        orphan=given.get("orphanDependents"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=bool(dry_run),
    )
    errors: list[FieldError] = []
    if made.policy is not None and made.orphan is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", made.policy, text))
    if made.policy is not None and made.policy not in _POLICIES:
        errors.append(not_supported("propagationPolicy", made.policy, [*_POLICIES, "nil"]))
    errors += dry_run_errors(dry_run)
    if errors:
        raise invalid_options("DeleteOptions", errors)
    return made


def _body_options(state: State, call: Call) -> JSONObject:
    body = decode_body(state, call, None)
    check_delete_options(body)
    try:
        options: JSONObject = reader_of("meta/v1.DeleteOptions")(body, "", None)
    except UnreadableObject as error:
        raise bad_request(str(error)) from None
    return options


def _query_options(call: Call) -> JSONObject:
    """The options in the query, which the server ignores if there is a body."""
    given: JSONObject = {
        "gracePeriodSeconds": call.number("gracePeriodSeconds"),
        "propagationPolicy": call.query.get("propagationPolicy"),
        "orphanDependents": call.flag("orphanDependents") if "orphanDependents" in call.query else None,
        "dryRun": call.values("dryRun"),
    }
    return {name: value for name, value in given.items() if value is not None}


async def delete(state: State, call: Call) -> ApiResponse:
    """Handles DELETE of one object."""
    options = read_options(state, call)
    if call.type.qualified == "namespaces" and call.name in _UNDELETABLE_NAMESPACES:
        raise forbidden(call.type, call.name, "this namespace may not be deleted")
    found = state.storage.get(call.type.storage, call.namespace, call.name)
    if found is None:
        raise not_found(call.type, call.name)
    left, gone = await delete_object(state, call.type, found, options, deletion_attributes(call, call.name))
    if gone and not call.type.strategy.returns_deleted:
        return ApiResponse(encode(_success(call.type, decoded(call.type, found))), warnings=call.warnings)
    status = 202 if not gone and options.orphan is False else 200
    output = output_format(call)
    body = output.encode_entry(state, left) if isinstance(left, Entry) else output.encode_object(state, left)
    return ApiResponse(body, status=status, warnings=call.warnings)


def _success(type_: ResourceType, obj: JSONObject) -> JSONObject:
    details = {
        "name": obj["metadata"]["name"],
        "group": type_.group,
        "kind": type_.plural,
        "uid": obj["metadata"]["uid"],
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {field: value for field, value in details.items() if value},
    }


def deletion_attributes(call: Call, name: str) -> Attributes:
    """Returns the admission attributes of a delete."""
    attributes = attributes_of(call, "DELETE")
    attributes.name = name
    return attributes


async def delete_collection(state: State, call: Call) -> ApiResponse:
    """Handles DELETE of a collection: of all objects that match the selectors."""
    options = read_options(state, call)
    entries, metadata = await select(state, call)
    deleted, budget = [], WorkBudget()
    for entry in entries:
        if await _delete_current(state, call, entry, options):
            deleted.append(entry)
        await budget.spend(PROCESSED)
    return ApiResponse(await encode_list(state, output_format(call), deleted, metadata), warnings=call.warnings)


async def _delete_current(state: State, call: Call, entry: Entry, options: DeleteOptions) -> bool:
    """Deletes one object of a collection in its current state. Returns False if it no longer exists."""
    while (found := state.storage.get(call.type.storage, entry.namespace, entry.name)) is not None:
        try:
            # The real server passes no names to admission for the objects of a collection.
            await delete_object(state, call.type, found, options, deletion_attributes(call, ""))
        except RevisionConflict:
            continue
        await state.yield_to_watches()
        return True
    return False


async def delete_object(
    state: State, type_: ResourceType, found: Entry, options: DeleteOptions, attributes: Attributes | None
) -> tuple[Entry | JSONObject, bool]:
    """Deletes an object, or marks it as being deleted. Returns its remaining or last state, and whether it is gone.

    `attributes` is passed to admission; None skips admission. Raises `RevisionConflict` if the object changed during
    admission.
    """
    obj, before = decoded(type_, found), decoded(type_, found)
    check_preconditions(type_, obj, options)
    metadata, strategy = obj["metadata"], type_.strategy
    graceful, pending = _grace(state, type_, obj, options)
    if pending:
        return found, False
    if graceful:
        options = replace(options, grace=metadata["deletionGracePeriodSeconds"])
    finalizers = _finalizers(type_, metadata.get("finalizers") or [], options)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    held = bool(strategy.finalizers(obj))
    if attributes is not None and (held or graceful or finalizers != (before["metadata"].get("finalizers") or [])):
        await admit_deletion(state, attributes, before, options)
    if held and not graceful:
        _mark(state, obj, 0)
    if held or graceful:
        strategy.prepare_delete(obj)
    stays = held or (graceful and metadata["deletionGracePeriodSeconds"] > 0)
    changes = held or graceful
    if options.dry_run:
        if attributes is not None and not changes:
            await admit_deletion(state, attributes, before, options)
        return obj, not stays
    if changes and obj != before:
        found = await store(state, type_, obj, found)
    if stays:
        return found, False
    if attributes is not None:
        await admit_deletion(state, attributes, decoded(type_, found), options)
    last = state.storage.delete(type_.storage, found.decode(), found)
    await convert_entries(type_, [last])
    return last, True


async def admit_deletion(state: State, attributes: Attributes, old: JSONObject, options: DeleteOptions) -> None:
    """Runs both phases of admission. The real server does so twice if it marks and then deletes an object."""
    admitted = replace(attributes, old=old, options=options.shown(), dry_run=options.dry_run)
    await state.admission.admit(admitted)


def check_preconditions(type_: ResourceType, obj: JSONObject, options: DeleteOptions) -> None:
    """Raises `Failure` if the object is not the one that the preconditions name."""
    name, metadata = obj["metadata"]["name"], obj["metadata"]
    if type_.qualified in _OWN_PRECONDITIONS:
        for field, given, found in (
            ("UID", options.uid, metadata["uid"]),
            ("ResourceVersion", options.resource_version, metadata["resourceVersion"]),
        ):
            if given is not None and given != found:
                text = f"Precondition failed: {field} in precondition: {given}, {field} in object meta: {found}"
                raise conflict(type_, name, text)
    if options.uid is not None and options.uid != metadata["uid"]:
        text = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(type_, name, text, as_kind=True)
    if options.resource_version is not None and options.resource_version != metadata["resourceVersion"]:
        text = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise conflict(type_, name, text, as_kind=True)


def _mark(state: State, obj: JSONObject, grace: int) -> None:
    """Marks the object as being deleted. The first time, this increments the generation."""
    metadata = obj["metadata"]
    metadata["deletionGracePeriodSeconds"] = grace
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = format_time(state.clock.now() + timedelta(seconds=grace))
        if metadata.get("generation", 0) > 0:
            metadata["generation"] += 1


def _grace(state: State, type_: ResourceType, obj: JSONObject, options: DeleteOptions) -> tuple[bool, bool]:
    """Starts the grace period of a pod. Returns whether it started now, and whether it had started before."""
    default = type_.strategy.default_grace_seconds
    if default is None:
        return False, False
    metadata = obj["metadata"]
    requested = options.grace if options.grace is None or options.grace >= 0 else 1
    if "deletionTimestamp" in metadata:
        left = metadata.get("deletionGracePeriodSeconds", 0)
        if not left:
            return False, False
        if requested is None or requested >= left:
            return False, True
        ends = parse_time(metadata["deletionTimestamp"]) - timedelta(seconds=left - requested)
        now = state.clock.now().replace(microsecond=0)
        if ends < now:
            ends, requested = now, 1 if requested else 0
        metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = format_time(ends), requested
        return True, False
    period = (
        requested if requested is not None else (obj.get("spec") or {}).get("terminationGracePeriodSeconds", default)
    )
    nowhere = not (obj.get("spec") or {}).get("nodeName")
    ended = (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded")
    _mark(state, obj, 0 if nowhere or ended else max(period, 1 if period else 0))
    return True, False


def _finalizers(type_: ResourceType, existing: list[str], options: DeleteOptions) -> list[str]:
    """Returns the finalizers that make the garbage collector orphan dependents, or delete them first."""
    policy = options.policy
    if options.orphan is not None:
        policy = "Orphan" if options.orphan else "Background"
    if policy is None:
        held = next((name for name in existing if name in (_ORPHAN, _FOREGROUND)), None)
        policy = {_ORPHAN: "Orphan", _FOREGROUND: "Foreground", None: type_.strategy.garbage_collection_default}[held]
    kept = [name for name in existing if name not in (_ORPHAN, _FOREGROUND)]
    added = {"Orphan": [_ORPHAN], "Foreground": [_FOREGROUND]}.get(policy, [])
    if set(existing) == {*kept, *added}:
        return existing
    return kept + added
