"""`QuotaAdmission`: rejects writes that would exceed a quota, and counts admitted ones as used."""

from __future__ import annotations

from typing import Final

from kubewright.api import Quantity
from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.limits._amounts import Amounts, amounts_of, sum_of, written
from kubewright.cluster.limits._status import STORAGE, write_status
from kubewright.cluster.limits._usage import UNSUPPORTED_SCOPES, concerns, counted_names, missing_amounts, usage_of
from kubewright.cluster.machinery._failures import unsupported
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.storage._storage import Entry

__all__ = ["QuotaAdmission"]

_MANAGER: Final = "kube-apiserver"
_CHANGING: Final = frozenset({"services", "persistentvolumeclaims"})


class QuotaAdmission(Plugin):
    """Enforces the quotas of a namespace by their status, as the plugin ResourceQuota does."""

    name = "ResourceQuota"

    def __init__(self, state: State) -> None:
        self._state = state

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether the write may use more of a quota in its namespace, or is a quota itself."""
        if attributes.subresource or attributes.object is None or not attributes.namespace:
            return False
        if attributes.type.storage == STORAGE:
            return True
        if not self._state.storage.count(STORAGE):
            return False
        return attributes.operation == "CREATE" or (
            attributes.operation == "UPDATE" and attributes.type.qualified in (*_CHANGING, "pods")
        )

    def validate(self, attributes: Attributes) -> None:
        """Rejects a write that exceeds a quota; otherwise records the usage."""
        obj = attributes.object
        assert obj is not None
        if attributes.type.storage == STORAGE:
            _check_scopes(obj)
        if attributes.operation == "UPDATE" and not self._may_grow(attributes):
            return
        charges = [
            charge
            for entry in self._state.storage.entries(STORAGE, attributes.namespace)
            if (charge := self._charge(attributes, entry)) is not None
        ]
        if attributes.dry_run:
            return
        for entry, used in charges:
            write_status(self._state, entry, {"used": written(used)}, _MANAGER)

    def _may_grow(self, attributes: Attributes) -> bool:
        if attributes.type.qualified in _CHANGING:
            return True
        obj, old = attributes.object, attributes.old
        if attributes.type.qualified != "pods" or obj is None or old is None:
            return False
        return (obj["spec"].get("activeDeadlineSeconds") is None) != (old["spec"].get("activeDeadlineSeconds") is None)

    def _charge(self, attributes: Attributes, entry: Entry) -> tuple[Entry, Amounts] | None:
        """Returns the usage after the write; None if the quota does not count it. Raises a 403 if it is exceeded."""
        resource, obj, now = attributes.type.qualified, attributes.object, self._state.clock.now()
        assert obj is not None
        quota = entry.decode()
        status = quota.get("status") or {}
        hard, used = amounts_of(status.get("hard")), amounts_of(status.get("used"))
        names = counted_names(resource, hard)
        if not names or not concerns(quota, resource, obj):
            return None
        quota_name = quota["metadata"]["name"]
        if resource == "pods" and (missing := missing_amounts(obj, names)):
            raise attributes.forbidden(f"failed quota: {quota_name}: must specify {missing}")
        if not names <= used.keys():
            raise attributes.forbidden(f"status unknown for quota: {quota_name}, resources: {','.join(sorted(names))}")
        requested = usage_of(resource, obj, now)
        if attributes.old is not None and concerns(quota, resource, attributes.old):
            before = usage_of(resource, attributes.old, now)
            requested = {name: amount - before.get(name, Quantity("0")) for name, amount in requested.items()}
        requested = {name: amount for name, amount in requested.items() if name in hard and amount > Quantity("0")}
        if not requested:
            return None
        after = sum_of(used, requested)
        if exceeded := sorted(name for name in requested if after[name] > hard[name]):
            asked, spent, limited = (
                ",".join(f"{name}={amounts[name]}" for name in exceeded) for amounts in (requested, used, hard)
            )
            text = f"requested: {asked}, used: {spent}, limited: {limited}"
            raise attributes.forbidden(f"exceeded quota: {quota_name}, {text}")
        return entry, after


def _check_scopes(quota: JSONObject) -> None:
    spec = quota.get("spec") or {}
    given = [*(spec.get("scopes") or ())]
    given += [each.get("scopeName", "") for each in (spec.get("scopeSelector") or {}).get("matchExpressions") or ()]
    for name in given:
        if name in UNSUPPORTED_SCOPES:
            raise unsupported(f"quotas with the scope {name}")
