"""The arguments of caches: selectors, index functions and transforms. Imported by every operator's file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from kubewright.api import FieldSelector, Object, Selector

__all__ = ["Fields", "IndexFunction", "Labels", "Transform", "selector_of"]

R = TypeVar("R", bound=Object)

Labels: TypeAlias = str | Selector | Mapping[str, str]
"""A label selector: a string, a `Selector`, or the labels that an object must have."""

Fields: TypeAlias = str | FieldSelector | Mapping[str, str]
"""A field selector: a string, a `FieldSelector`, or the values that fields must have."""

Transform: TypeAlias = Callable[[bytes], bytes]
"""Changes an object's JSON before it is stored, to save memory. It must not change name, uid and resourceVersion."""

IndexFunction: TypeAlias = Callable[[R], Iterable[str] | None]
"""Returns the values under which an index finds an object: an iterable of strings, one string, or None for no value.
It must be fast, because it runs in the watch loop."""


def selector_of(labels: Labels | None) -> Selector | None:
    """Returns the selector, or None for one that selects everything."""
    if labels is None or isinstance(labels, Selector):
        selector = labels
    elif isinstance(labels, str):
        selector = Selector.parse(labels)
    elif isinstance(labels, Mapping):
        selector = Selector.from_labels(labels)
    else:
        given = type(labels).__name__
        raise TypeError(f'labels must be a label selector, such as "app=web" or {{"app": "web"}}, not {given}')
    return None if selector is None or selector.selects_everything else selector
