"""`pods/binding`: assigns pods to nodes."""

from __future__ import annotations

from kubewright.cluster._state import State
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, bad_request, conflict
from kubewright.cluster.machinery._field_errors import not_supported
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.nodes._pod_calls import admit, pod_of, success, with_condition
from kubewright.cluster.registry._decoding import decode_body
from kubewright.cluster.registry._store import commit

__all__ = ["bind"]


async def bind(state: State, call: Call) -> ApiResponse:
    """Assigns a pod to a node, once. As on a real server, nodeName has no field manager afterwards."""
    binding = decode_body(state, call, None)
    metadata, target = binding.get("metadata") or {}, binding.get("target") or {}
    if metadata.get("name") != call.name:
        raise bad_request("name in URL does not match name in Binding object")
    if target.get("kind") not in (None, "", "Node"):
        raise Failure(500, "", str(not_supported("target.kind", target["kind"], ["Node", "<empty>"])))
    if not target.get("name"):
        raise Failure(500, "", "target.name: Required value")
    found, pod = pod_of(state, call)
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
    await admit(state, call, binding)
    if state.storage.get(call.type.storage, call.namespace, call.name) is not found:
        return await bind(state, call)  # it changed during admission
    if not call.dry_run:
        commit(state, call.type, _bound(state, pod, metadata, target["name"]), found)
    return success(call)


def _bound(state: State, pod: JSONObject, given: JSONObject, node: str) -> JSONObject:
    metadata = dict(pod["metadata"])
    for part in ("annotations", "labels"):
        if given.get(part):
            metadata[part] = {**(metadata.get(part) or {}), **given[part]}
    placed = {**pod, "metadata": metadata, "spec": {**pod["spec"], "nodeName": node}}
    return with_condition(state, placed, type="PodScheduled", status="True")


def _cannot(call: Call, why: str) -> Failure:
    text = f'Operation cannot be fulfilled on pods/binding "{call.name}": {why}'
    return Failure(409, "Conflict", text, {"name": call.name, "kind": "pods/binding"})
