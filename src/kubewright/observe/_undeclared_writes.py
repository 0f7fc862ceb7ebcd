"""`UndeclaredWrites`: finds kinds that a controller applies without having declared them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from kubewright.api import Object, ResourceInfo, Selector, info_of
from kubewright.cache import Labels, selector_of
from kubewright.rbac import Permission

__all__ = ["DeclaredController", "DeclaredKind", "UndeclaredWrites"]


class DeclaredKind(Protocol):
    """A kind in `owns` or `watches`."""

    @property
    def info(self) -> ResourceInfo:
        """The kind."""

    @property
    def labels(self) -> Labels | None:
        """The label selector of the objects that are cached; None for all of them."""


class DeclaredController(Protocol):
    """The declarations of one controller."""

    @property
    def name(self) -> str:
        """The controller's name."""

    @property
    def info(self) -> ResourceInfo:
        """The kind that it reconciles."""

    @property
    def owns(self) -> Sequence[DeclaredKind]:
        """The kinds of owned objects."""

    @property
    def watches(self) -> Sequence[DeclaredKind]:
        """The kinds of other watched objects."""

    @property
    def reads(self) -> Sequence[DeclaredKind]:
        """The kinds that are only cached."""


class UndeclaredWrites:
    """Returns a warning, once per controller and kind, when a controller applies a kind that it does not declare.

    Such a program works with the permissions of a developer, but changes of the object trigger no reconcile, and the
    generated roles do not allow the write. A kind is declared if the controller reconciles it, or if it is in `owns`,
    `watches` or `operator.needs`. Where a declaration has labels, the applied objects must have them.
    """

    def __init__(self, controllers: Collection[DeclaredController] = (), needs: Iterable[Permission] = ()) -> None:
        self._kinds = {one.name: {_group_kind(info) for info in _infos(one)} for one in controllers}
        self._labels = {(one.name, group_kind): found for one in controllers for group_kind, found in _labels(one)}
        self._needed = {(one.group, one.resource.partition("/")[0]) for one in needs if not one.url}
        self._checked: set[tuple[str, type[Object]]] = set()
        self._reported_labels: set[tuple[str, type[Object]]] = set()

    def check(self, controller: str, obj: Object) -> str | None:
        """Returns the warning for an object that a controller applies; None if there is none, or it was returned."""
        kind = type(obj)
        if self._labels and (warning := self._check_labels(controller, obj)):
            return warning
        if (controller, kind) in self._checked:
            return None
        self._checked.add((controller, kind))
        info, name = info_of(kind), kind.__name__
        if controller not in self._kinds or _group_kind(info) in self._kinds[controller] or self._is_needed(info):
            return None
        return (
            f"ctx.apply of a {info.kind}, which controller {controller!r} does not declare: changes and deletions of it"
            f" trigger no reconcile, and the generated roles do not allow the write. Add owns=[{name}] where the"
            " controller is registered; or, if the object is only written,"
            f' operator.needs({name}, verbs=["get", "create", "patch"])'
        )

    def _check_labels(self, controller: str, obj: Object) -> str | None:
        wanted, kind = self._labels.get((controller, _group_kind(info_of(obj))), ()), type(obj)
        labels = obj.metadata.labels or {}
        if not wanted or (controller, kind) in self._reported_labels or any(one.matches(labels) for one in wanted):
            return None
        self._reported_labels.add((controller, kind))
        return (
            f"ctx.apply of a {kind.__name__} without the labels that controller {controller!r} selects"
            f" ({' or '.join(map(str, wanted))}): changes and deletions of it trigger no reconcile, and reads,"
            " ctx.owned and ctx.prune do not see it. Add the labels to the object"
        )

    def _is_needed(self, info: ResourceInfo) -> bool:
        return any(group in (info.group, "*") and plural in (info.plural, "*") for group, plural in self._needed)


def _infos(controller: DeclaredController) -> list[ResourceInfo]:
    return [controller.info, *(one.info for one in (*controller.owns, *controller.watches))]


def _labels(controller: DeclaredController) -> list[tuple[tuple[str, str], list[Selector]]]:
    """Returns the kinds of which a controller caches only the objects with certain labels, with the selectors."""
    found: dict[tuple[str, str], list[Selector | None]] = {}
    for one in (*controller.owns, *controller.watches, *controller.reads):
        found.setdefault(_group_kind(one.info), []).append(selector_of(one.labels))
    return [
        (group_kind, [selector for selector in selectors if selector is not None])
        for group_kind, selectors in found.items()
        if None not in selectors
    ]


def _group_kind(info: ResourceInfo) -> tuple[str, str]:
    return info.group, info.kind
