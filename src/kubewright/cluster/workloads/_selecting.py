"""Objects whose label selector matches given labels, found without a scan of their namespace.

An object is in the index under the labels that its selector requires: a Service with the selector `app=web,tier=front`
under that string. Labels find it by their own part of the same keys. The number of lookups is the number of different
sets of keys in use, which does not grow with the number of objects.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar

import kubewright as kw
from kubewright.api import Object, Requirement, Selector, SelectorError, SelectorOperator
from kubewright.cache import ObjectKey
from kubewright.controller import Reader

__all__ = ["SelectorIndex"]

O = TypeVar("O", bound=Object)  # noqa: E741

_NAME: Final = "selector"
_MOST_KEY_SETS: Final = 1000
"""Selectors with further sets of keys are compared with all labels of their namespace."""
_NOTHING: Final = Selector.nothing()
_POSITIVE: Final = (SelectorOperator.EQUALS, SelectorOperator.DOUBLE_EQUALS, SelectorOperator.IN)


class SelectorIndex(Generic[O]):
    """The index of one kind by its selectors. The kind must be in the operator's cache.

    An object whose selector is invalid matches nothing.
    """

    def __init__(self, operator: kw.Operator, kind: type[O], selector: Callable[[O], Selector]) -> None:
        self._kind = kind
        self._selector = selector
        self._key_sets: dict[str, set[tuple[str, ...]]] = {}
        """By the first of the keys, so that labels find the sets that they may contain."""
        self._count = 0
        operator.indexes(kind, _NAME)(self.values)

    def values(self, obj: O) -> list[str]:
        """Returns the values of an object in the index."""
        selector = self._selector_of(obj)
        if selector == _NOTHING:
            return []
        namespace, required = obj.metadata.namespace, _required(selector.requirements)
        if not self._known(tuple(required)):
            return [_value(namespace, {})]
        choices = itertools.product(*required.values())
        return [_value(namespace, dict(zip(required, choice, strict=True))) for choice in choices]

    def matching(self, reader: Reader, namespace: str, labels: Mapping[str, str]) -> list[ObjectKey]:
        """Returns the objects in the namespace whose selector matches the labels, sorted."""
        found: set[ObjectKey] = set()
        for keys in self._key_sets_in(labels):
            value = _value(namespace, {key: labels[key] for key in keys})
            for obj in reader.by_index(self._kind, _NAME, value):
                if self._selector_of(obj).matches(labels):
                    found.add(ObjectKey.of(obj))
        return sorted(found)

    def _selector_of(self, obj: O) -> Selector:
        try:
            return self._selector(obj)
        except SelectorError:
            return _NOTHING

    def _known(self, keys: tuple[str, ...]) -> bool:
        """Returns whether lookups use this set of keys. Adds a new one, unless there are too many."""
        if not keys:
            return True
        if keys in self._key_sets.get(keys[0], ()):
            return True
        if self._count >= _MOST_KEY_SETS:
            return False
        self._key_sets.setdefault(keys[0], set()).add(keys)
        self._count += 1
        return True

    def _key_sets_in(self, labels: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
        yield ()
        for first in labels:
            yield from (keys for keys in self._key_sets.get(first, ()) if all(key in labels for key in keys))


def _required(requirements: Sequence[Requirement]) -> dict[str, tuple[str, ...]]:
    """Returns labels that every match has, with their values: all with one value, else the first with several."""
    positive = {one.key: one.values for one in requirements if one.operator in _POSITIVE}
    single: dict[str, tuple[str, ...]] = {key: values for key, values in positive.items() if len(values) == 1}
    return single or dict(itertools.islice(positive.items(), 1))


def _value(namespace: str, labels: Mapping[str, str]) -> str:
    return f"{namespace} {','.join(f'{key}={value}' for key, value in labels.items())}"
