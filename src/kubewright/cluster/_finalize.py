"""`/namespaces/x/finalize`: how the controller that empties namespaces lets go of one."""

from __future__ import annotations

from kubewright.cluster._answers import Answer
from kubewright.cluster._bodies import read_object
from kubewright.cluster._calls import Call
from kubewright.cluster._failures import not_found
from kubewright.cluster._state import State
from kubewright.cluster._storage import Entry
from kubewright.cluster._views import decoded, view_of
from kubewright.cluster._writes import update_object

__all__ = ["finalize"]


async def finalize(state: State, call: Call) -> Answer:
    """PUT with the finalizers of the spec that remain. The namespace goes when none is left and it is being deleted."""
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
    view = view_of(call)
    return Answer(view.raw(state, made) if isinstance(made, Entry) else view.object(state, made))
