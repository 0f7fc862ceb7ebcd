"""Validation of scheduling: node selectors, tolerations, affinity, topology spread constraints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_key_errors, label_selector_errors
from kubewright.names import label_problems, label_value_problems

__all__ = [
    "affinity_errors",
    "gate_errors",
    "node_selector_errors",
    "node_terms_errors",
    "spread_errors",
    "toleration_errors",
]

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_NODE_POLICIES: Final = ("Honor", "Ignore")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def node_selector_errors(selector: JSONObject | None, path: str) -> list[FieldError]:
    """Validates a node selector."""
    errors: list[FieldError] = []
    for key, value in (selector or {}).items():
        errors += label_key_errors(key, path)
        errors += [invalid(path, value, problem) for problem in label_value_problems(value)]
    return errors


def toleration_errors(tolerations: Iterable[JSONObject], path: str) -> list[FieldError]:
    """Validates tolerations."""
    errors: list[FieldError] = []
    for index, each in enumerate(tolerations):
        errors += _toleration(each, f"{path}[{index}]")
    return errors


def _toleration(each: JSONObject, where: str) -> list[FieldError]:
    key, operator, value = each.get("key", ""), each.get("operator", ""), each.get("value", "")
    effect = each.get("effect", "")
    errors = label_key_errors(key, f"{where}.key") if key else []
    if not key and operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(f"{where}.operator", operator, text))
    if each.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(f"{where}.effect", effect, text))
    if operator in ("Equal", ""):
        if problems := label_value_problems(value):
            errors.append(invalid(f"{where}.operator", value, ";".join(problems)))
    elif operator == "Exists":
        if value:
            errors.append(invalid(f"{where}.operator", value, "value must be empty when `operator` is 'Exists'"))
    elif operator in ("Lt", "Gt"):
        errors.append(not_supported(f"{where}.operator", operator, ["Equal", "Exists", "Lt", "Gt"]))
    else:
        errors.append(not_supported(f"{where}.operator", operator, ["Equal", "Exists"]))
    if effect and effect not in _EFFECTS:
        errors.append(not_supported(f"{where}.effect", effect, _EFFECTS))
    return errors


def affinity_errors(affinity: JSONObject | None, path: str) -> list[FieldError]:
    """Validates node affinity, pod affinity and pod anti-affinity."""
    errors: list[FieldError] = []
    node = (affinity or {}).get("nodeAffinity") or {}
    if (wanted := node.get(_REQUIRED)) is not None:
        errors += node_terms_errors(wanted.get("nodeSelectorTerms") or (), f"{path}.nodeAffinity.{_REQUIRED}")
    for index, each in enumerate(node.get(_PREFERRED) or ()):
        where = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        errors += _weight(each, where)
        errors += _node_term(each.get("preference") or {}, f"{where}.preference", values=False)
    for field in ("podAffinity", "podAntiAffinity"):
        given = (affinity or {}).get(field) or {}
        for index, each in enumerate(given.get(_REQUIRED) or ()):
            errors += _pod_term(each, f"{path}.{field}.{_REQUIRED}[{index}]")
        for index, each in enumerate(given.get(_PREFERRED) or ()):
            where = f"{path}.{field}.{_PREFERRED}[{index}]"
            errors += _weight(each, where)
            errors += _pod_term(each.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")
    return errors


def _weight(each: JSONObject, where: str) -> list[FieldError]:
    weight = each.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid(f"{where}.weight", weight, "must be in the range 1-100")]


def node_terms_errors(terms: Iterable[JSONObject], path: str) -> list[FieldError]:
    """Validates the terms of a NodeSelector."""
    found = list(terms)
    if not found:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    return [
        error
        for index, term in enumerate(found)
        for error in _node_term(term, f"{path}.nodeSelectorTerms[{index}]", values=True)
    ]


def _node_term(term: JSONObject, path: str, *, values: bool) -> list[FieldError]:
    """Validates one term; `values` says whether its values must be label values."""
    errors: list[FieldError] = []
    for index, each in enumerate(term.get("matchExpressions") or ()):
        errors += _node_requirement(each, f"{path}.matchExpressions[{index}]", values=values)
    for index, each in enumerate(term.get("matchFields") or ()):
        errors += _field_requirement(each, f"{path}.matchFields[{index}]")
    return errors


def _node_requirement(each: JSONObject, where: str, *, values: bool) -> list[FieldError]:
    operator, given = each.get("operator", ""), each.get("values") or []
    errors = []
    if operator in ("In", "NotIn"):
        if not given:
            errors.append(required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if given:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{where}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(given) != 1:
            errors.append(required(f"{where}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        errors.append(invalid(f"{where}.operator", operator, "not a valid selector operator"))
    errors += label_key_errors(each.get("key", ""), f"{where}.key")
    for index, value in enumerate(given if values else ()):
        errors += [invalid(f"{where}.values[{index}]", value, problem) for problem in label_value_problems(value)]
    return errors


def _field_requirement(each: JSONObject, where: str) -> list[FieldError]:
    operator, values = each.get("operator", ""), each.get("values") or []
    errors = []
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            errors.append(required(f"{where}.values", text))
    else:
        errors.append(invalid(f"{where}.operator", operator, "not a valid selector operator"))
    if each.get("key") != "metadata.name":
        errors.append(invalid(f"{where}.key", each.get("key", ""), "not a valid field selector key"))
    return errors


def _pod_term(term: JSONObject, path: str) -> list[FieldError]:
    errors = label_selector_errors(term.get("labelSelector"), f"{path}.labelSelector")
    errors += label_selector_errors(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        errors += [invalid(f"{path}.namespace", name, problem) for problem in label_problems(name)]
    errors += _label_keys(term, path)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + label_key_errors(key, f"{path}.topologyKey")


def _label_keys(term: JSONObject, path: str) -> list[FieldError]:
    """Validates the labels of the pod itself that a selector must match or must not match."""
    selector, errors = term.get("labelSelector"), list[FieldError]()
    wanted, unwanted = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    for field, keys in (("matchLabelKeys", wanted), ("mismatchLabelKeys", unwanted)):
        if keys and selector is None:
            errors.append(forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set"))
        elif keys:
            for index, key in enumerate(keys):
                errors += label_key_errors(key, f"{path}.{field}[{index}]")
    selected = set((selector or {}).get("matchLabels") or ())
    for each in (selector or {}).get("matchExpressions") or ():
        if (key := each.get("key", "")) in selected and key in wanted:
            text = "exists in both matchLabelKeys and labelSelector"
            errors.append(invalid(f"{path}[{len(wanted) - 1 - wanted[::-1].index(key)}]", key, text))
        selected.add(key)
    text = "exists in both matchLabelKeys and mismatchLabelKeys"
    repeated = [(index, key) for index, key in enumerate(wanted) if key in unwanted]
    return errors + [invalid(f"{path}.matchLabelKeys[{index}]", key, text) for index, key in repeated]


def spread_errors(constraints: Iterable[JSONObject], path: str) -> list[FieldError]:
    """Validates topology spread constraints."""
    errors: list[FieldError] = []
    given = list(constraints)
    for index, each in enumerate(given):
        where, action = f"{path}[{index}]", each.get("whenUnsatisfiable", "")
        if each.get("maxSkew", 0) <= 0:
            errors.append(invalid(f"{where}.maxSkew", each.get("maxSkew", 0), "must be greater than zero"))
        if not each.get("topologyKey"):
            errors.append(required(f"{where}.topologyKey", "can not be empty"))
        if action not in _ACTIONS:
            errors.append(not_supported(f"{where}.whenUnsatisfiable", action, _ACTIONS))
        pair = (each.get("topologyKey", ""), action)
        later = [(other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) for other in given[index + 1 :]]
        if pair in later:
            shown = "{" + f"{pair[0]}, {pair[1]}" + "}"
            errors.append(duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", shown))
        domains = each.get("minDomains")
        if domains is not None:
            if domains <= 0:
                errors.append(invalid(f"{where}.minDomains", domains, "must be greater than zero"))
            if action != "DoNotSchedule":
                text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                errors.append(invalid(f"{where}.minDomains", domains, text))
        errors += [
            not_supported(f"{where}.{field}", each[field], _NODE_POLICIES)
            for field in ("nodeAffinityPolicy", "nodeTaintsPolicy")
            if each.get(field) is not None and each[field] not in _NODE_POLICIES
        ]
        errors += _label_keys(each, where)
        errors += label_selector_errors(each.get("labelSelector"), f"{where}.labelSelector")
    return errors


def gate_errors(spec: JSONObject, path: str) -> list[FieldError]:
    """Validates readiness gates and scheduling gates."""
    errors: list[FieldError] = []
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        errors += label_key_errors(gate.get("conditionType", ""), f"{path}.readinessGates[{index}].conditionType")
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, where = gate.get("name", ""), f"{path}.schedulingGates[{index}]"
        errors += label_key_errors(name, where)
        if name in seen:
            errors.append(duplicate(where, name))
        seen.add(name)
    return errors
