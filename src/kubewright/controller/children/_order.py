"""`Child`: an object of a set, and the order of the set."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kubewright.api import Object
from kubewright.arguments import known_options
from kubewright.cache import ObjectKey
from kubewright.client.wire import info_of_object
from kubewright.controller.apply import ImmutablePolicy

__all__ = ["Child", "ChildKey", "PlacedChild", "in_order"]

O = TypeVar("O", bound=Object)  # noqa: E741


class Child(Generic[O]):
    """A child with options: `Child(web, after=[migration])`. A child without options is the object itself.

    Args:
        obj: the object, as for `ctx.apply`.
        after: apply it only when these children are ready. Each is in the same set.
        ready: whether the object is ready, from its current state. Default: the rules of `readiness_of`.
        adopt: see `ctx.apply`.
        owned: see `ctx.apply`.
        release: see `ctx.apply`.
        optimistic_lock: see `ctx.apply`.
        immutable: see `ctx.apply`.
    """

    __slots__ = ("after", "object", "options", "owned", "ready")

    @known_options
    def __init__(
        self,
        obj: O,
        *,
        after: Object | Sequence[Object] = (),
        ready: Callable[[O], bool] | None = None,
        adopt: bool = False,
        owned: bool = True,
        release: Sequence[str] = (),
        optimistic_lock: bool = False,
        immutable: ImmutablePolicy = "fail",
    ) -> None:
        if not isinstance(obj, Object):
            raise TypeError(f"Child takes an object, such as core.ConfigMap(...), not {obj!r}")
        self.object = obj
        self.after = (after,) if isinstance(after, Object) else tuple(after)
        for one in self.after:
            if not isinstance(one, Object):
                raise TypeError(f"after must name objects of the same set, not {one!r}")
        if ready is not None and not callable(ready):
            raise TypeError(f"ready must be a function of the object's current state, not {ready!r}")
        self.ready = ready
        self.owned = owned
        self.options: dict[str, Any] = {
            "adopt": adopt,
            "owned": owned,
            "release": release,
            "optimistic_lock": optimistic_lock,
            "immutable": immutable,
        }

    def __repr__(self) -> str:
        return f"Child({self.object})"


class ChildKey(NamedTuple):
    """Identifies a child, in any version of its kind."""

    group: str
    kind: str
    key: ObjectKey

    @classmethod
    def of(cls, obj: Object) -> ChildKey:
        """Returns the key of an object that has its namespace."""
        info = info_of_object(obj)
        return cls(info.group, info.kind, ObjectKey.of(obj))

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class PlacedChild(NamedTuple):
    """A child whose namespace is known."""

    key: ChildKey
    child: Child[Any]
    after: tuple[ChildKey, ...]


_APPLY_ORDER: Final = (
    frozenset({("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition")}),
    frozenset(
        {
            *(("", kind) for kind in ("ServiceAccount", "Secret", "ConfigMap", "PersistentVolumeClaim", "Service")),
            *(
                ("rbac.authorization.k8s.io", f"{scope}Role{end}")
                for scope in ("", "Cluster")
                for end in ("", "Binding")
            ),
            ("scheduling.k8s.io", "PriorityClass"),
            ("storage.k8s.io", "StorageClass"),
        }
    ),
)
"""Kinds that other objects need. They are applied before the rest, as Helm does."""


def in_order(children: Iterable[Object | Child[Any]], key_of: Callable[[Object], ChildKey]) -> list[list[PlacedChild]]:
    """Returns the children in groups. The children of a group are independent, and applied after all earlier groups.

    A child comes after the children in its `after`. Otherwise, kinds that other objects need come first. Within a
    group, the children keep the given order.

    Raises TypeError for a child that is not an object, and ValueError for two children of one name, for an `after` that
    is not in the set, and for a cycle.
    """
    if isinstance(children, Object | Child):
        raise TypeError(f"apply_all takes a list of children, [{children!r}]")
    placed: dict[ChildKey, PlacedChild] = {}
    for given in children:
        child: Child[Any] = given if isinstance(given, Child) else Child(given)
        key = key_of(child.object)
        if key in placed:
            raise ValueError(f"apply_all got two children {key}: give them different names")
        placed[key] = PlacedChild(key, child, tuple(key_of(one) for one in child.after))
    for one in placed.values():
        for wait in one.after:
            if wait not in placed:
                raise ValueError(f"{one.key} is applied after {wait}, which is not in the set: add it to apply_all")
    sorter = graphlib.TopologicalSorter({key: one.after for key, one in placed.items()})
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        raise ValueError(f"children wait for each other: {' after '.join(map(str, error.args[1]))}") from None
    position = {key: number for number, key in enumerate(placed)}
    groups: list[list[PlacedChild]] = []
    while sorter.is_active():
        free = sorted(sorter.get_ready(), key=position.__getitem__)
        by_rank: dict[int, list[PlacedChild]] = {}
        for key in free:
            by_rank.setdefault(_rank(key), []).append(placed[key])
        groups += (by_rank[rank] for rank in sorted(by_rank))
        sorter.done(*free)
    return groups


def _rank(key: ChildKey) -> int:
    return next((rank for rank, kinds in enumerate(_APPLY_ORDER) if (key.group, key.kind) in kinds), len(_APPLY_ORDER))
