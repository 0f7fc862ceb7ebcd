"""Table rows of webhook configurations, admission policies and APIServices."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubewright.columns._cells import UNSET, age_of, name_of, spec_of, status_of
from kubewright.columns._table import JSONObject

__all__ = ["api_service", "mutating_policy", "policy_binding", "validating_policy", "webhooks"]


def webhooks(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), len(obj.get("webhooks") or ()), age_of(obj, now)]


def validating_policy(obj: JSONObject, now: datetime) -> list[Any]:
    return _policy(obj, "validations", now)


def mutating_policy(obj: JSONObject, now: datetime) -> list[Any]:
    return _policy(obj, "mutations", now)


def _policy(obj: JSONObject, rules: str, now: datetime) -> list[Any]:
    spec = spec_of(obj)
    kind = spec.get("paramKind")
    shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
    return [name_of(obj), len(spec.get(rules) or ()), shown, age_of(obj, now)]


def policy_binding(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: the policy, and the name or the selector of its parameters."""
    spec = spec_of(obj)
    reference = spec.get("paramRef") or {}
    shown = UNSET
    if reference.get("name"):
        shown = f"{reference.get('namespace') or '*'}/{reference['name']}"
    elif reference.get("selector") is not None:
        shown = _printed_by_go(reference["selector"])
    return [name_of(obj), spec.get("policyName", ""), shown, age_of(obj, now)]


def _printed_by_go(selector: JSONObject) -> str:
    """Returns a LabelSelector as Go prints its type, which is what the real server shows."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def api_service(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: the Service that serves the group version, and whether it is available."""
    service = spec_of(obj).get("service")
    host = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    conditions = {each["type"]: each for each in reversed(status_of(obj).get("conditions") or ())}
    available = conditions.get("Available") or {}
    state = available.get("status", "Unknown")
    if state != "True" and available.get("reason"):
        state = f"{state} ({available['reason']})"
    return [name_of(obj), host, state, age_of(obj, now)]
