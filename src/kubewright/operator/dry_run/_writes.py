"""`DryWrites`: simulates one write: sends it to the server as a dry run, and adds the answer to the earlier writes.

The server does not remember dry runs: each one starts from the stored object. So a second write of an object is sent
together with the changes of the first one, or its changes are merged into the simulated state:

- An apply is sent as it is. The changes since the last apply of the same field manager are merged.
- Any other write is made locally, and the whole difference to the stored object is sent as one JSON Patch.
- An object that the server does not have is sent as a create. Its status cannot be sent.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from kubewright.cache import creator_of
from kubewright.client import Request
from kubewright.controller.fields import FieldSet, minus, union, without_fields
from kubewright.diff import ListKeys, PatchFailed, diff, json_patched, merge_patched, rebased
from kubewright.operator.dry_run._answers import Answer, CannotSimulate, Forward, conflict, not_found, object_answer
from kubewright.operator.dry_run._simulation import ObjectAddress, SimulatedObject, Simulation

__all__ = ["DryWrites"]

_JSON_PATCH: Final = "application/json-patch+json"
_MERGE_PATCH: Final = "application/merge-patch+json"
_APPLY_PATCH: Final = "application/apply-patch+yaml"
_SERVERS: Final = frozenset({"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"})
_VERSION: Final = "/metadata/resourceVersion"
_CREATED: Final = "create"
"""Stands for the subresource in the key of an answer to a create."""
_NOT_CHECKED: Final = "the server did not check it and set no defaults, because the old object still exists"
_STATUS_NOT_CHECKED: Final = "the server did not check its status, because the object does not exist yet"


class DryWrites:
    """Simulates writes to one object, which the caller has locked."""

    def __init__(self, simulation: Simulation, forward: Forward) -> None:
        self._simulation = simulation
        self._forward = forward

    # Create and delete

    async def create(self, request: Request, found: SimulatedObject | None, base: dict[str, Any] | None) -> Answer:
        """Simulates a create."""
        if found is not None and found.state is not None:
            return conflict(request, "AlreadyExists", f'"{request.name}" already exists')
        if found is not None and found.base is not None:
            found.recreated = True
            found.note(_NOT_CHECKED)
            return self._stored(found, _unchecked_object(request))
        answer = await self._forward(request)
        address = found.address if found is not None else _address_of(request, answer)
        made = found or SimulatedObject(address, base, None)
        if self._lacks_namespace(request, answer):
            made.note("the server did not check it and set no defaults, because its namespace does not exist yet")
            return self._stored(made, _unchecked_object(request))
        if answer.status >= 300:
            return answer
        made.answers[(_manager(request), _CREATED)] = answer.content
        return self._stored(made, answer.content, answer)

    async def delete(self, request: Request, found: SimulatedObject) -> Answer:
        """Simulates a deletion."""
        assert found.state is not None
        options = msgspec.json.decode(request.body or b"{}", type=dict[str, Any])
        wanted = options.get("preconditions") or {}
        metadata = found.state["metadata"]
        for name in ("uid", "resourceVersion"):
            if wanted.get(name) not in (None, metadata.get(name)):
                return conflict(request, "Conflict", f"the {name} in the precondition is not that of the object")
        kept = metadata.get("finalizers")
        if not found.is_new:
            preconditions = {name: value for name, value in wanted.items() if name == "uid"}
            body = options | {"dryRun": ["All"], "preconditions": preconditions or None}
            answer = await self._forward(request, body=msgspec.json.encode(body))
            if answer.status >= 300:
                return answer
            kept = (answer.content.get("metadata") or {}).get("deletionTimestamp") and kept
        if kept:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            return self._stored(found, found.state | {"metadata": {"deletionTimestamp": now} | metadata})
        last = found.state
        self._simulation.set(found, None)
        if found.base is None:
            del self._simulation.objects[found.address]
        return object_answer(last)

    # Patches, updates and applies

    async def change(self, request: Request, found: SimulatedObject) -> Answer:
        """Simulates a patch, an update or an apply, of the object or its status."""
        state, part = found.state, request.resource.partition("/")[2]
        content_type = request.headers.get("Content-Type", "")
        body = msgspec.json.decode(request.body or b"{}")
        if state is None:
            return not_found(request)
        is_first = found.address not in self._simulation.objects  # another client may have changed it since the start
        if not is_first and (problem := _precondition_conflict(request, body, state)) is not None:
            return problem
        if content_type == _APPLY_PATCH:
            return await self._apply(request, found, body, part)
        if isinstance(body, list) and (entries := _only_managed_fields(body)) is not None:
            found.claimed = entries
            return self._stored(found, state | {"metadata": state["metadata"] | {"managedFields": entries}})
        try:
            wanted = _patched(state, body, content_type, put=request.method == "PUT")
        except PatchFailed as error:
            return conflict(request, "Invalid", f"the patch does not fit the object: {error}", code=422)
        answer = await self._send_state(request, found, wanted, part)
        return answer if answer.status >= 300 else self._merged(found, answer, part)

    async def _apply(self, request: Request, found: SimulatedObject, body: dict[str, Any], part: str) -> Answer:
        state, manager = found.state, _manager(request)
        assert state is not None
        if found.is_new and (part or found.recreated):
            found.note(_STATUS_NOT_CHECKED if part else _NOT_CHECKED)
            reference, found.answers[(manager, part)] = found.answers.get((manager, part)) or {}, body
            merged = rebased(_part(reference, part), _part(state, part), _part(body, part))
            found.owns_status = found.owns_status or bool(part)
            return self._stored(found, state | merged | {"metadata": state["metadata"] | merged.get("metadata", {})})
        dropped = {"resourceVersion"} | ({"uid"} if found.is_new else set())
        metadata = {name: value for name, value in body["metadata"].items() if name not in dropped}
        answer = await self._forward(request, body=msgspec.json.encode(body | {"metadata": metadata}))
        if answer.status >= 300:
            return answer
        result = answer.content
        if found.claimed is not None and not part and not found.is_new:
            result = await self._without_dropped_fields(request, found, result, manager)
        known = found.answers
        earlier = known.get((manager, part))
        if earlier is None and found.claimed is not None:
            earlier = known.get((creator_of(manager), _CREATED)) or known.get((manager, _CREATED))
        before = earlier or found.base or {}
        known[(manager, part)] = result
        merged = rebased(_plain(before), _plain(state), _plain(result))
        return self._merged(found, answer, part, merged)

    async def _without_dropped_fields(
        self, request: Request, found: SimulatedObject, result: dict[str, Any], manager: str
    ) -> dict[str, Any]:
        """Returns the answer to an apply without the fields that the manager has claimed and no longer applies.

        The server does not know about the claim, so it has kept these fields.
        """
        ours, others = _field_sets(found.claimed or [], manager)
        applied, _ = _field_sets(result["metadata"].get("managedFields") or [], manager)
        dropped = minus(ours, union(applied, others))
        if not dropped:
            return result
        answer = await self._send_state(request, found, without_fields(result, dropped), "")
        if answer.status >= 300:
            found.note("fields that are not applied any more are not shown")
            return result
        return answer.content

    async def _send_state(self, request: Request, found: SimulatedObject, wanted: dict[str, Any], part: str) -> Answer:
        """Sends the whole difference to the stored object; of an object that does not exist, the whole object."""
        if found.is_new:
            if part:
                found.note(_STATUS_NOT_CHECKED)
                return object_answer(wanted)
            sent = {name: value for name, value in _plain(wanted).items() if name != "status" or not found.owns_status}
            collection = request.path.rpartition("/")[0]
            body = msgspec.json.encode(sent)
            answer = await self._forward(request, method="POST", path=collection, body=body)
            if answer.status < 300 or not found.recreated:
                return answer
            return object_answer(wanted)
        assert found.base is not None
        before, after = (_part(one, part, status=not found.owns_status) for one in (found.base, wanted))
        operations = list(diff(ListKeys(Any), before, before, after))
        body = msgspec.json.encode(operations)
        return await self._forward(request, method="PATCH", body=body, content_type=_JSON_PATCH)

    # Results

    def _merged(
        self, found: SimulatedObject, answer: Answer, part: str, merged: dict[str, Any] | None = None
    ) -> Answer:
        """Stores the answer as the new state. Each endpoint changes its own part of the object."""
        before, result = found.state, merged if merged is not None else answer.content
        assert before is not None
        metadata = answer.content["metadata"]
        if part == "status":
            found.owns_status = True
            state = _with_status(before, result)
        else:
            state = _with_status(result, before) if found.owns_status else dict(result)
        entries = _joined(before["metadata"].get("managedFields") or [], metadata.get("managedFields") or [])
        kept = {name: before["metadata"][name] for name in ("uid", "creationTimestamp") if name in before["metadata"]}
        numbers = {"generation": metadata["generation"]} if "generation" in metadata else {}
        state["metadata"] = state["metadata"] | numbers | kept | {"managedFields": entries}
        return self._stored(found, state, answer)

    def _stored(self, found: SimulatedObject, state: dict[str, Any], answer: Answer | None = None) -> Answer:
        raw = self._simulation.set(found, state)
        return Answer(200, raw, answer.warned if answer is not None else [])

    def _lacks_namespace(self, request: Request, answer: Answer) -> bool:
        """Returns whether a create failed because its namespace exists only in this run."""
        if answer.status != 404 or not request.namespace:
            return False
        made = (one for address, one in self._simulation.objects.items() if address.name == request.namespace)
        return any(one.address.collection == "/api/v1/namespaces" and one.base is None for one in made)


def _address_of(request: Request, answer: Answer) -> ObjectAddress:
    """Returns the address of a created object, whose name the server may have generated."""
    made = "" if request.name or answer.status >= 300 else answer.content["metadata"]["name"]
    return ObjectAddress.of(request, made)


def _manager(request: Request) -> str:
    return dict(request.query).get("fieldManager", "")


def _plain(content: dict[str, Any]) -> dict[str, Any]:
    """Returns an object without the metadata that only the server writes."""
    metadata = {name: value for name, value in content.get("metadata", {}).items() if name not in _SERVERS}
    return content | {"metadata": metadata}


def _part(content: dict[str, Any], part: str, *, status: bool = True) -> dict[str, Any]:
    """Returns the part of an object that an endpoint writes. The server ignores a status at the wrong endpoint."""
    if part == "status":
        return {"status": content["status"]} if "status" in content else {}
    ignored = {"apiVersion", "kind"} | (set() if status else {"status"})
    return {name: value for name, value in _plain(content).items() if name not in ignored}


def _with_status(content: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in content.items() if name != "status"}
    return rest | ({"status": source["status"]} if "status" in source else {})


def _unchecked_object(request: Request) -> dict[str, Any]:
    """Returns a created object that the server could not check."""
    content = msgspec.json.decode(request.body or b"{}", type=dict[str, Any])
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    made = {"uid": str(uuid.uuid4()), "creationTimestamp": now, "generation": 1, "managedFields": []}
    return content | {"metadata": content.get("metadata", {}) | made}


def _precondition_conflict(request: Request, body: Any, state: dict[str, Any]) -> Answer | None:
    """Returns the conflict for a write that requires another resourceVersion or uid than the simulated one."""
    metadata = state["metadata"]
    if isinstance(body, list):
        wanted = {"resourceVersion": next((one.get("value") for one in body if one.get("path") == _VERSION), None)}
    else:
        wanted = body.get("metadata") or {}
    for name in ("resourceVersion", "uid"):
        if wanted.get(name) not in (None, "", metadata.get(name)):
            message = "the object has been modified; please apply your changes to the latest version and try again"
            return conflict(request, "Conflict", message)
    return None


def _only_managed_fields(operations: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Returns the managed fields that a JSON Patch writes, if it writes nothing else."""
    rest = [one for one in operations if one.get("path") != _VERSION]
    if len(rest) == 1 and rest[0].get("path") == "/metadata/managedFields" and rest[0]["op"] == "replace":
        entries: list[dict[str, Any]] = rest[0]["value"]
        return entries
    return None


def _patched(state: dict[str, Any], body: Any, content_type: str, *, put: bool) -> dict[str, Any]:
    changed: dict[str, Any]
    if put:
        changed = body
    elif content_type == _JSON_PATCH:
        changed = json_patched(state, [one for one in body if one.get("path") != _VERSION])
    elif content_type == _MERGE_PATCH:
        changed = merge_patched(state, body)
    else:
        raise CannotSimulate(
            f"a dry run cannot show a patch of type {content_type}: use apply, MergePatch or JsonPatch"
        )
    return changed


def _field_sets(entries: list[dict[str, Any]], manager: str) -> tuple[FieldSet, FieldSet]:
    """Returns the fields that a manager has applied, and those of all other managers except its creator."""
    ours: FieldSet = {}
    others: FieldSet = {}
    for entry in entries:
        fields = entry.get("fieldsV1") or {}
        if (entry.get("manager"), entry.get("operation"), entry.get("subresource") or "") == (manager, "Apply", ""):
            ours = union(ours, fields)
        elif entry.get("manager") != creator_of(manager):
            others = union(others, fields)
    return ours, others


def _joined(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the entries of both lists. A newer entry replaces the older one of the same manager."""

    def identity(entry: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(entry.get(name) for name in ("manager", "operation", "subresource", "apiVersion"))

    newer = {identity(entry) for entry in after}
    return [*after, *(entry for entry in before if identity(entry) not in newer)]
