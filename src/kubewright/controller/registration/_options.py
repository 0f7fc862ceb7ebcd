"""Checks of options that are kinds and label selectors."""

from __future__ import annotations

from typing import Any

from kubewright.api import Object, ResourceInfo, Selector, SelectorError, info_of
from kubewright.arguments import is_string_mapping
from kubewright.cache import Labels, selector_of

__all__ = ["check_kind", "check_labels"]


def check_kind(kind: object, what: str) -> ResourceInfo:
    """Returns the info of a kind. Raises TypeError for anything else."""
    if not (isinstance(kind, type) and issubclass(kind, Object)):
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
