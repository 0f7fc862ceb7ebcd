"""`pods/binding` and `pods/eviction`: how schedulers place pods, and how those who empty nodes take them away."""

from __future__ import annotations

from typing import Final

from kubewright.api import Selector, from_dict
from kubewright.cluster._answers import Answer, encode
from kubewright.cluster._bodies import decode_body
from kubewright.cluster._calls import Call
from kubewright.cluster._deletes import DeleteOptions, check_preconditions, delete_object
from kubewright.cluster._dispatch import Dispatcher
from kubewright.cluster._failures import Failure, bad_request, conflict, not_found, unsupported
from kubewright.cluster._field_errors import not_supported
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._state import State
from kubewright.cluster._storage import Entry
from kubewright.cluster._views import decoded
from kubewright.cluster._writes import commit
from kubewright.cluster.admission._attributes import attributes_of, kind_of

__all__ = ["add_node_calls"]

_BINDING: Final = "pods/binding"
_EVICTION: Final = "pods/eviction"
_BUDGETS: Final = "policy/poddisruptionbudgets"


def add_node_calls(dispatcher: Dispatcher) -> None:
    """Let the dispatcher answer bindings and evictions."""
    dispatcher.supported |= {_BINDING, _EVICTION}
    dispatcher.overrides.append(_override)


async def _override(state: State, call: Call) -> Answer | None:
    if call.type.qualified != "pods" or call.subresource not in ("binding", "eviction"):
        return None
    return await (_bind(state, call) if call.subresource == "binding" else _evict(state, call))


async def _bind(state: State, call: Call) -> Answer:
    """Put a pod on a node, once. As on a real server, nobody comes to manage its nodeName by that."""
    binding = decode_body(state, call, None)
    metadata, target = binding.get("metadata") or {}, binding.get("target") or {}
    if metadata.get("name") and metadata["name"] != call.name:
        raise bad_request("name in URL does not match name in Binding object")
    if target.get("kind") not in (None, "", "Node"):
        raise Failure(500, "", str(not_supported("target.kind", target["kind"], ["Node", "<empty>"])))
    if not target.get("name"):
        raise Failure(500, "", "target.name: Required value")
    found, pod = _pod(state, call)
    uid = metadata.get("uid")
    if uid and uid != pod["metadata"]["uid"]:
        where = f"Key: /registry/pods/{call.namespace}/{call.name}, ResourceVersion: 0"
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {pod['metadata']['uid']}"
        text = f"StorageError: invalid object, Code: 4, {where}, AdditionalErrorMsg: {why}"
        raise conflict(call.type, call.name, text)
    if pod["metadata"].get("deletionTimestamp"):
        raise _cannot(call, f"pod {call.name} is being deleted, cannot be assigned to a host")
    if node := pod["spec"].get("nodeName"):
        raise _cannot(call, f'pod {call.name} is already assigned to node "{node}"')
    if pod["spec"].get("schedulingGates"):
        raise _cannot(call, f"pod {call.name} has non-empty .spec.schedulingGates")
    await _admit(state, call, binding)
    if state.storage.get(call.type.storage, call.namespace, call.name) is not found:
        return await _bind(state, call)  # it changed while admission was asked
    if not call.dry_run:
        commit(state, call.type, _bound(state, pod, metadata, target["name"]), found)
    return _success(call, 201)


def _bound(state: State, pod: JSONObject, given: JSONObject, node: str) -> JSONObject:
    metadata = dict(pod["metadata"])
    for part in ("annotations", "labels"):
        if given.get(part):
            metadata[part] = {**(metadata.get(part) or {}), **given[part]}
    placed = {**pod, "metadata": metadata, "spec": {**pod["spec"], "nodeName": node}}
    return _with_condition(state, placed, type="PodScheduled", status="True")


def _with_condition(state: State, pod: JSONObject, **condition: str) -> JSONObject:
    status = dict(pod.get("status") or {})
    others = [each for each in status.get("conditions") or () if each["type"] != condition["type"]]
    made = {"lastProbeTime": None, "lastTransitionTime": state.now(), **condition}
    return {**pod, "status": {**status, "conditions": [*others, made]}}


async def _admit(state: State, call: Call, obj: JSONObject) -> None:
    """Ask admission about the creation of a Binding or an Eviction."""
    kind = kind_of(call.type, call.subresource)
    version = f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
    metadata = {"name": call.name, "namespace": call.namespace, **(obj.get("metadata") or {})}
    asked = attributes_of(call, "CREATE", {**obj, "kind": kind["kind"], "apiVersion": version, "metadata": metadata})
    await state.admission.mutate(asked)
    await state.admission.validate(asked)


async def _evict(state: State, call: Call) -> Answer:
    """Delete a pod. Nobody here counts what budgets allow, so that pods with a budget are refused."""
    eviction = decode_body(state, call, None)
    name = (eviction.get("metadata") or {}).get("name")
    if name and name != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    found, pod = _pod(state, call)
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed", "Pending")
    if not ended and (budget := _budget_of(state, call, pod)):
        raise unsupported(f"evictions of pods that a disruption budget protects, as {budget} does this one: delete it")
    options = eviction.get("deleteOptions") or {}
    preconditions = options.get("preconditions") or {}
    made = DeleteOptions(
        grace=options.get("gracePeriodSeconds"),
        policy=options.get("propagationPolicy"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=call.dry_run or bool(options.get("dryRun")),
    )
    check_preconditions(call.type, pod, made)
    await _admit(state, call, eviction)
    if state.storage.get(call.type.storage, call.namespace, call.name) is not found:
        return await _evict(state, call)  # it changed while admission was asked
    if not made.dry_run:
        # First the reason, for those who watch; a second write takes the pod away.
        reason, message = "EvictionByEvictionAPI", "Eviction API: evicting"
        told = _with_condition(state, pod, type="DisruptionTarget", status="True", reason=reason, message=message)
        found, made.resource_version = commit(state, call.type, told, found), None
    await delete_object(state, call.type, found, made, None)
    return _success(call, 201)


def _budget_of(state: State, call: Call, pod: JSONObject) -> str | None:
    from kubewright.api.meta.v1 import LabelSelector

    for entry in state.storage.entries(_BUDGETS, call.namespace):
        selector = (entry.decode().get("spec") or {}).get("selector")
        wanted = None if selector is None else from_dict(LabelSelector, selector)
        if Selector.from_label_selector(wanted).matches(pod["metadata"].get("labels")):
            return entry.name
    return None


def _pod(state: State, call: Call) -> tuple[Entry, JSONObject]:
    found = state.storage.get(call.type.storage, call.namespace, call.name)
    if found is None:
        raise not_found(call.type, call.name)
    return found, decoded(call.type, found)


def _cannot(call: Call, why: str) -> Failure:
    text = f'Operation cannot be fulfilled on {_BINDING} "{call.name}": {why}'
    return Failure(409, "Conflict", text, {"name": call.name, "kind": _BINDING})


def _success(call: Call, code: int) -> Answer:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}
    return Answer(encode(status), status=code, warnings=call.warnings)
