"""The selectors of an access review. RBAC ignores them; the server still validates them."""

from __future__ import annotations

import re
from typing import Final

from kubewright.api import Selector, SelectorError
from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_requirement_errors, requirement_errors

__all__ = ["selector_errors", "selector_parse_errors"]

_PATH: Final = "spec.resourceAttributes"
_TERM: Final = re.compile(r"[^=!]+(=|==|!=)[^=!]*")
_OPERATORS: Final = {"fieldSelector": ("In", "NotIn"), "labelSelector": ("In", "NotIn", "Exists", "DoesNotExist")}


def selector_errors(attributes: JSONObject) -> list[FieldError]:
    """Requires either a raw selector or a list of requirements, which may have operators of newer versions."""
    errors: list[FieldError] = []
    for name in _OPERATORS:
        selector = attributes.get(name)
        if selector is None:
            continue
        path, text, wanted = f"{_PATH}.{name}", selector.get("rawSelector", ""), selector.get("requirements")
        if text and wanted:
            errors.append(invalid(f"{path}.rawSelector", text, "may not specified at the same time as requirements"))
        if not text and not wanted:
            detail = f"when {path} is specified, requirements or rawSelector is required"
            errors.append(required(f"{path}.requirements", detail))
        for index, each in enumerate(wanted or ()):
            errors += _requirement_errors(name, each, f"{path}.requirements[{index}]")
    return errors


def _requirement_errors(name: str, wanted: JSONObject, path: str) -> list[FieldError]:
    if name == "labelSelector":
        return label_requirement_errors(wanted, path, any_operator=True)
    missing = [] if wanted.get("key") else [required(f"{path}.key", "must be specified")]
    return [*missing, *requirement_errors(wanted, path, any_operator=True)]


def selector_parse_errors(attributes: JSONObject) -> str:
    """Returns the server's message about selectors that could not be parsed; empty if there are none."""
    problems = []
    for name, operators in _OPERATORS.items():
        selector = attributes.get(name) or {}
        wanted = selector.get("requirements") or []
        unknown = [each for each in wanted if each.get("operator") not in operators]
        if unknown:
            part = "partially " if len(unknown) < len(wanted) else ""
            problems.append(f"{_PATH}.{name} {part}ignored due to parse error")
        elif not _readable(name, selector.get("rawSelector", "")):
            problems.append(f"{_PATH}.{name} ignored due to parse error")
    return "; ".join(problems)


def _readable(name: str, text: str) -> bool:
    if name == "fieldSelector":
        return all(_TERM.fullmatch(term) for term in text.split(",") if term)
    try:
        Selector.parse(text)
    except SelectorError:
        return False
    return True
