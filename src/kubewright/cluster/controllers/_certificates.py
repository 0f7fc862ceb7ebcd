"""Approves, signs and cleans up CertificateSigningRequests, as kube-controller-manager does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from kubewright.api import parse_time
from kubewright.clock import Timer
from kubewright.cluster._state import State
from kubewright.cluster.access import AccessRequest, Authorizer
from kubewright.cluster.certificates import (
    KUBELET_CLIENT,
    SIGNERS,
    InvalidRequest,
    expiry_of,
    is_kubelet_client,
    parse_request,
    signed_certificate,
    signer_problem,
)
from kubewright.cluster.controllers._writing import controller_user, delete, type_of, update
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._work_budget import PROCESSED, WorkBudget
from kubewright.cluster.registry._delete import DeleteOptions
from kubewright.cluster.storage._storage import Entry, Event, RevisionConflict

__all__ = ["CertificateController"]

_STORAGE: Final = "certificates.k8s.io/certificatesigningrequests"
_ROLES: Final = "rbac.authorization.k8s.io/"
_USER: Final = controller_user("certificate-controller")
_CLEANING_SECONDS: Final = 3600.0
_DECIDED: Final = timedelta(hours=1)
_PENDING: Final = timedelta(hours=24)
# The requests of kubelets that are approved if their user may create this subresource.
_SELF: Final = ("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview.")
_NODE: Final = ("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.")


class CertificateController:
    """Approves client certificates of kubelets, signs approved requests, and deletes old ones every hour.

    `wake` is called when the next cleanup is due.
    """

    def __init__(self, state: State, authorizer: Authorizer, wake: Callable[[], None]) -> None:
        self._state = state
        self._authorizer = authorizer
        self._wake = wake
        self._timer: Timer | None = None
        self._cleans = False
        self._todo: dict[str, None] = {}
        self.later: dict[str, None] = {}

    def start(self) -> None:
        """Processes all requests, and schedules the first cleanup."""
        self._notice_all()

    def stop(self) -> None:
        """Stops the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def notice(self, event: Event) -> None:
        """Records a write of a request, or of a role: the role may allow the approval of existing requests."""
        if event.storage == _STORAGE:
            if event.kind != "DELETED":
                self._notice_request(event.entry.name)
        elif event.storage.startswith(_ROLES) and self._state.storage.count(_STORAGE):
            self._notice_all()

    def _notice_all(self) -> None:
        for entry in self._state.storage.entries(_STORAGE):
            self._notice_request(entry.name)

    def _notice_request(self, name: str) -> None:
        self._todo[name] = None
        if self._timer is None:
            self._timer = self._state.clock.call_later(_CLEANING_SECONDS, self._clean)

    def _clean(self) -> None:
        self._timer, self._cleans = None, True
        self._wake()

    @property
    def busy(self) -> bool:
        """Returns whether work is pending."""
        return self._cleans or bool(self._todo)

    def again(self) -> None:
        """Retries what admission rejected."""
        self._todo |= self.later
        self.later.clear()

    async def work(self, budget: WorkBudget) -> None:
        """Processes everything recorded so far."""
        if self._cleans:
            self._cleans = False
            for each in list(self._state.storage.entries(_STORAGE)):
                await self._clean_up(each)
                await budget.spend(PROCESSED)
        for name in list(self._todo):
            self._todo.pop(name, None)
            entry = self._state.storage.get(_STORAGE, "", name)
            if entry is not None:
                try:
                    await self._sync(entry)
                except (Failure, RevisionConflict):
                    self.later[name] = None
            await budget.spend(PROCESSED)

    # Approval and signatures

    async def _sync(self, entry: Entry) -> None:
        type_ = type_of(self._state, _STORAGE)
        assert type_ is not None
        obj = decoded(type_, entry)
        status, conditions = obj.get("status") or {}, _types_of(obj)
        if status.get("certificate"):
            return
        try:
            if not conditions & {"Approved", "Denied"}:
                change, subresource = self._approval(obj), "approval"
            elif "Approved" in conditions and not conditions & {"Denied", "Failed"}:
                change, subresource = self._signature(obj), "status"
            else:
                return
        except InvalidRequest:  # validated when it was created; only another parser could see it differently
            return
        if change is not None:
            await update(self._state, type_, entry, {**obj, "status": {**status, **change}}, _USER, subresource)

    def _approval(self, obj: JSONObject) -> JSONObject | None:
        """Returns the conditions of a request that is approved automatically; None for any other."""
        spec = obj["spec"]
        if spec.get("signerName") != KUBELET_CLIENT:
            return None
        request = parse_request(spec["request"])
        if not is_kubelet_client(request, spec["usages"]):
            return None
        own = spec.get("username") in [
            str(each.value) for each in request.subject if each.oid.dotted_string == "2.5.4.3"
        ]
        for subresource, message in (_SELF, _NODE) if own else (_NODE,):
            asked = AccessRequest(
                user=_requestor(spec),
                verb="create",
                group="certificates.k8s.io",
                resource="certificatesigningrequests",
                subresource=subresource,
            )
            if self._authorizer.decide(asked).allowed:
                return self._with_condition(obj, "Approved", "AutoApproved", message)
        return None

    def _signature(self, obj: JSONObject) -> JSONObject | None:
        """Returns the certificate, or the condition of a request that the signer refuses."""
        spec = obj["spec"]
        if spec.get("signerName") not in SIGNERS:
            return None
        request = parse_request(spec["request"])
        if problem := signer_problem(spec["signerName"], request, spec["usages"]):
            return self._with_condition(obj, "Failed", "SignerValidationFailure", problem)
        return {"certificate": signed_certificate(self._state, request, spec["usages"], spec.get("expirationSeconds"))}

    def _with_condition(self, obj: JSONObject, kind: str, reason: str, message: str) -> JSONObject:
        now = self._state.now()
        made = {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastUpdateTime": now,
            "lastTransitionTime": now,
        }
        return {"conditions": [*_conditions_of(obj), made]}

    # Cleaning

    async def _clean_up(self, entry: Entry) -> None:
        type_ = type_of(self._state, _STORAGE)
        assert type_ is not None
        obj = decoded(type_, entry)
        if not _is_old(obj, self._state.clock.now()):
            if self._timer is None:
                self._timer = self._state.clock.call_later(_CLEANING_SECONDS, self._clean)
            return
        try:
            await delete(self._state, type_, entry, DeleteOptions(uid=obj["metadata"]["uid"]), _USER)
        except (Failure, RevisionConflict):
            self._notice_request(entry.name)  # tries again in an hour


def _conditions_of(obj: JSONObject) -> list[JSONObject]:
    return (obj.get("status") or {}).get("conditions") or []


def _types_of(obj: JSONObject) -> set[str]:
    return {each.get("type", "") for each in _conditions_of(obj)}


def _requestor(spec: JSONObject) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("username", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)


def _is_old(obj: JSONObject, now: datetime) -> bool:
    """Returns whether a request is past the deadline of its state: pending, approved, issued, denied or failed."""
    certificate = (obj.get("status") or {}).get("certificate")
    conditions = _conditions_of(obj)
    if not conditions:
        return now - parse_time(obj["metadata"]["creationTimestamp"]) > _PENDING
    for condition in conditions:
        kind, updated = condition.get("type"), condition.get("lastUpdateTime")
        age = timedelta() if not updated else now - parse_time(updated)
        if kind in ("Denied", "Failed") and age > _DECIDED:
            return True
        if kind == "Approved":
            if age > (_DECIDED if certificate else _PENDING):
                return True
            if certificate and (expires := expiry_of(certificate)) is not None and now > expires:
                return True
    return False
