"""Checks of options that are kinds and label selectors."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Final

from kubewright.api import Object, ResourceInfo, Selector, SelectorError, info_of
from kubewright.arguments import is_string_mapping
from kubewright.cache import Labels, selector_of
from kubewright.signatures import name_of

__all__ = ["check_kind", "check_labels"]

_USAGE: Final = {
    **dict.fromkeys(("reconciles", "finalizes", "deleted", "daemon", "defaults", "validates"), "Kind"),
    "every": 'Kind, "30s"',
    "indexes": 'Kind, "name"',
}
"""The arguments of the decorators that take a kind. The most common mistake is to leave them out."""


def check_kind(kind: object, what: str) -> ResourceInfo:
    """Returns the info of a kind. Raises TypeError for anything else."""
    if not (isinstance(kind, type) and issubclass(kind, Object)):
        if what in _USAGE and (isinstance(kind, FunctionType) or hasattr(kind, "reconcile")):
            raise TypeError(
                f"@operator.{what} needs a kind, and got {name_of(kind)}: write @operator.{what}({_USAGE[what]})"
            )
        raise TypeError(f"{what} takes a kind, such as apps.Deployment or a class with @resource, not {kind!r}")
    return info_of(kind)


def check_labels(what: str, given: Any) -> Labels | None:
    """Checks `labels=`: a label selector."""
    if given is not None and not isinstance(given, str | Selector) and not is_string_mapping(given):
        raise TypeError(
            f'{what}: labels must be a label selector, such as "app=web" or {{"app": "web"}}, not {given!r}'
        )
    try:
        selector_of(given)
    except SelectorError as error:
        raise ValueError(f"{what}: labels is not a valid label selector: {error}") from None
    labels: Labels | None = given
    return labels
