"""The strategy of CertificateSigningRequests: immutable but for the status, which `status` and `approval` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.cluster.certificates._validation import conditions_of, create_errors, update_errors
from kubewright.cluster.machinery._field_errors import FieldError
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy

if TYPE_CHECKING:
    from kubewright.cluster._state import State

__all__ = ["SigningRequestStrategy"]


class SigningRequestStrategy(BuiltinStrategy):
    """Rules of CertificateSigningRequests. `approval` changes only conditions; `status` keeps the approval."""

    checks_name_last = True

    status_subresources = frozenset({"status", "approval"})

    def __init__(self, type_: ResourceType, state: State) -> None:
        super().__init__(type_.api_version, type_.kind, type_.qualified)
        self._state = state

    def prepare_create(self, obj: JSONObject) -> None:
        """Clears the status: no request is created approved. `Requestor` sets the user."""
        obj["status"] = {}

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Keeps everything that the subresource must not change, and sets the times of new conditions."""
        obj["spec"] = old["spec"]
        if subresource == "":
            return
        status = obj["status"] = dict(obj.get("status") or {})
        if subresource == "status":
            status["conditions"] = _with_approval(conditions_of(obj), conditions_of(old))
        status["conditions"] = [self._timed(each, conditions_of(old)) for each in conditions_of(obj)]
        if not status["conditions"]:
            del status["conditions"]
        if subresource == "approval":
            status.pop("certificate", None)
            if "certificate" in (old.get("status") or {}):
                status["certificate"] = old["status"]["certificate"]

    def _timed(self, condition: JSONObject, old: list[JSONObject]) -> JSONObject:
        now = self._state.now()
        made = {**condition, "lastUpdateTime": condition.get("lastUpdateTime") or now}
        if not made.get("lastTransitionTime"):
            kept = (
                each["lastTransitionTime"]
                for each in old
                if each.get("lastTransitionTime")
                and (each.get("type"), each.get("status")) == (condition.get("type"), condition.get("status"))
            )
            made["lastTransitionTime"] = next(kept, now)
        return made

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the request and its signature, usages and signer."""
        return create_errors(obj)

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects changes that belong to another subresource, and the removal of decisions."""
        return update_errors(obj, old, subresource)


def _with_approval(conditions: list[JSONObject], old: list[JSONObject]) -> list[JSONObject]:
    """Returns the conditions with the stored approval and denial. Added or removed ones stay, and are rejected."""
    made = list(conditions)
    for kind in ("Approved", "Denied"):
        stored = [each for each in old if each.get("type") == kind]
        at = [index for index, each in enumerate(made) if each.get("type") == kind]
        if len(stored) == len(at):
            for index, condition in zip(at, stored, strict=True):
                made[index] = condition
    return made
