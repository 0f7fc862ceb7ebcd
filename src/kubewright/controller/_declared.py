"""What the controllers of an operator have said that they write, and a word about what they have not."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from kubewright.api import Object, ResourceInfo, Selector, info_of
from kubewright.cache import Labels, selector_of
from kubewright.rbac import Permission

if TYPE_CHECKING:
    from kubewright.controller._registration import Registration

__all__ = ["Declared"]


class Declared:
    """Finds what a controller applies without having said so, once for each kind.

    It works on a laptop, but its changes wake nobody, and roles do not allow it. A kind is declared that is reconciled
    by the controller, in its `owns` or `watches`, or in `operator.needs`; where these name labels, objects need them.
    """

    def __init__(self, registrations: Collection[Registration[Any]] = (), needs: Iterable[Permission] = ()) -> None:
        self._kinds = {one.name: {_group_kind(info) for info in _infos(one)} for one in registrations}
        self._labels = {(one.name, group_kind): found for one in registrations for group_kind, found in _labels(one)}
        self._needed = {(one.group, one.resource.partition("/")[0]) for one in needs if not one.url}
        self._seen: set[tuple[str, type[Object]]] = set()
        self._unlabelled: set[tuple[str, type[Object]]] = set()

    def advice(self, controller: str, obj: Object) -> str | None:
        """What to tell when a controller applies this object: nothing where all is well, or was told."""
        kind = type(obj)
        if self._labels and (advice := self._about_labels(controller, obj)):
            return advice
        if (controller, kind) in self._seen:
            return None
        self._seen.add((controller, kind))
        info, name = info_of(kind), kind.__name__
        if controller not in self._kinds or _group_kind(info) in self._kinds[controller] or self._is_needed(info):
            return None
        return (
            f"ctx.apply of a {info.kind}, which controller {controller!r} does not declare: nobody is woken when it is"
            f" changed or deleted, and the roles do not allow it. Write owns=[{name}] where the controller is"
            f' registered; or, if it is only written, operator.needs({name}, verbs=["get", "create", "patch"])'
        )

    def _about_labels(self, controller: str, obj: Object) -> str | None:
        wanted, kind = self._labels.get((controller, _group_kind(info_of(obj))), ()), type(obj)
        labels = obj.metadata.labels or {}
        if not wanted or (controller, kind) in self._unlabelled or any(one.matches(labels) for one in wanted):
            return None
        self._unlabelled.add((controller, kind))
        return (
            f"ctx.apply of a {kind.__name__} without the labels that controller {controller!r} looks for"
            f" ({' or '.join(map(str, wanted))}): nobody is woken when it is changed or deleted, and neither reads nor"
            " ctx.owned nor ctx.prune see it. Give it the labels"
        )

    def _is_needed(self, info: ResourceInfo) -> bool:
        return any(group in (info.group, "*") and plural in (info.plural, "*") for group, plural in self._needed)


def _infos(registration: Registration[Any]) -> list[ResourceInfo]:
    owned, watched = (one.info for one in registration.owns), (one.info for one in registration.watches)
    return [registration.info, *owned, *watched]


def _labels(registration: Registration[Any]) -> list[tuple[tuple[str, str], list[Selector]]]:
    """The kinds of which a controller sees some objects only, by the labels of `owns` and `watches`."""
    found: dict[tuple[str, str], list[Selector | None]] = {}
    seen: list[tuple[ResourceInfo, Labels | None]] = [(info_of(kind), None) for kind in registration.reads]
    seen += [(owns.info, owns.labels) for owns in registration.owns]
    seen += [(watch.info, watch.labels) for watch in registration.watches]
    for info, labels in seen:
        found.setdefault(_group_kind(info), []).append(selector_of(labels))
    return [
        (group_kind, [selector for selector in selectors if selector is not None])
        for group_kind, selectors in found.items()
        if None not in selectors
    ]


def _group_kind(info: ResourceInfo) -> tuple[str, str]:
    return info.group, info.kind
