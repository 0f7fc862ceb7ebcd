"""The common part of bindings and evictions: both refer to one pod and are not stored."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.admission import attributes_of, kind_of
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import not_found
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._responses import ApiResponse, encode
from kubewright.cluster.storage._storage import Entry

__all__ = ["admit", "pod_of", "success", "with_condition"]

_CREATED: Final = 201


def pod_of(state: State, call: Call) -> tuple[Entry, JSONObject]:
    """Returns the pod of a call, stored and decoded. Raises a 404."""
    found = state.storage.get(call.type.storage, call.namespace, call.name)
    if found is None:
        raise not_found(call.type, call.name)
    return found, decoded(call.type, found)


def with_condition(state: State, pod: JSONObject, **condition: str) -> JSONObject:
    """Returns the pod with this condition, replacing one of the same type."""
    status = dict(pod.get("status") or {})
    others = [each for each in status.get("conditions") or () if each["type"] != condition["type"]]
    made = {"lastProbeTime": None, "lastTransitionTime": state.now(), **condition}
    return {**pod, "status": {**status, "conditions": [*others, made]}}


async def admit(state: State, call: Call, obj: JSONObject) -> None:
    """Runs admission for the creation of a Binding or an Eviction."""
    kind = kind_of(call.type, call.subresource)
    version = f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
    metadata = {"name": call.name, "namespace": call.namespace, **(obj.get("metadata") or {})}
    asked = attributes_of(call, "CREATE", {**obj, "kind": kind["kind"], "apiVersion": version, "metadata": metadata})
    await state.admission.admit(asked)


def success(call: Call) -> ApiResponse:
    """Returns the success response."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": _CREATED}
    return ApiResponse(encode(status), status=_CREATED, warnings=call.warnings)
