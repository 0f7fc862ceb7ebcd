"""The `finalize` subresource, with which the namespace controller releases a namespace."""

from __future__ import annotations

from kubewright.cluster._state import State
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import not_found
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.output._format import output_format
from kubewright.cluster.registry._decoding import read_object
from kubewright.cluster.registry._update import update_object
from kubewright.cluster.storage._storage import Entry

__all__ = ["finalize"]


async def finalize(state: State, call: Call) -> ApiResponse:
    """Handles PUT of the remaining finalizers. Removes a namespace that is being deleted when none is left."""
    call.check_options()
    obj = read_object(state, call)
    found = state.storage.get(call.type.storage, "", call.name)
    if found is None:
        raise not_found(call.type, call.name)
    old = decoded(call.type, found)
    wanted = decoded(call.type, found)
    if finalizers := (obj.get("spec") or {}).get("finalizers"):
        wanted["spec"]["finalizers"] = finalizers
    else:
        wanted["spec"].pop("finalizers", None)
    wanted["metadata"]["resourceVersion"] = obj["metadata"].get("resourceVersion", "")
    made = await update_object(state, call, wanted, found, old, managed=True)
    output = output_format(call)
    return ApiResponse(
        output.encode_entry(state, made) if isinstance(made, Entry) else output.encode_object(state, made)
    )
