"""`pods/eviction`: deletes pods unless a disruption budget forbids it."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import bad_request
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.nodes._budgets import charge_eviction
from kubewright.cluster.nodes._pod_calls import admit, pod_of, success, with_condition
from kubewright.cluster.registry._decoding import decode_body
from kubewright.cluster.registry._delete import DeleteOptions, check_preconditions, delete_object
from kubewright.cluster.registry._store import commit

__all__ = ["evict"]

_NOT_RUNNING: Final = ("Succeeded", "Failed", "Pending")


async def evict(state: State, call: Call) -> ApiResponse:
    """Deletes a pod, after writing the reason into its status, if its budget allows it."""
    eviction = decode_body(state, call, None)
    name = (eviction.get("metadata") or {}).get("name")
    if name and name != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    await admit(state, call, eviction)
    options = _options_of(call, eviction)
    found, pod = pod_of(state, call)
    if _is_disruption(pod):
        await charge_eviction(state, pod, dry_run=options.dry_run)
        found, pod = pod_of(state, call)
    check_preconditions(call.type, pod, options)
    if not options.dry_run:
        # Write the reason first, so that watches see it; a second write deletes the pod.
        reason, message = "EvictionByEvictionAPI", "Eviction API: evicting"
        condition = with_condition(state, pod, type="DisruptionTarget", status="True", reason=reason, message=message)
        found, options.resource_version = commit(state, call.type, condition, found), None
    await delete_object(state, call.type, found, options, None)
    return success(call)


def _options_of(call: Call, eviction: JSONObject) -> DeleteOptions:
    given = eviction.get("deleteOptions") or {}
    preconditions = given.get("preconditions") or {}
    return DeleteOptions(
        grace=given.get("gracePeriodSeconds"),
        policy=given.get("propagationPolicy"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=call.dry_run or bool(given.get("dryRun")),
    )


def _is_disruption(pod: JSONObject) -> bool:
    """Returns whether the eviction counts as a disruption: not for pods that do not run or are being deleted."""
    phase, metadata = (pod.get("status") or {}).get("phase"), pod["metadata"]
    return phase not in _NOT_RUNNING and not metadata.get("deletionTimestamp")
