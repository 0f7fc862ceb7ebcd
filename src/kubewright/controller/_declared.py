"""What the controllers of an operator have said that they write, and a word about what they have not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kubewright.api import Object, ResourceInfo, info_of
from kubewright.controller._permissions import Permission

if TYPE_CHECKING:
    from kubewright.controller._registration import Registration

__all__ = ["Declared"]


class Declared:
    """Finds the kinds that a controller applies without having said so, each once.

    It works on a laptop, but its changes wake nobody, and roles do not allow it. A kind is declared that is reconciled
    by the controller, in its `owns` or `watches`, or in `operator.needs`.
    """

    def __init__(self, registrations: Iterable[Registration[Any]] = (), needs: Iterable[Permission] = ()) -> None:
        self._kinds = {one.name: {_group_kind(info) for info in _infos(one)} for one in registrations}
        self._needed = {(one.group, one.resource.partition("/")[0]) for one in needs if not one.url}
        self._seen: set[tuple[str, type[Object]]] = set()

    def advice(self, controller: str, kind: type[Object]) -> str | None:
        """What to tell when a controller applies an object of this kind: nothing where all is well, or was told."""
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

    def _is_needed(self, info: ResourceInfo) -> bool:
        return any(group in (info.group, "*") and plural in (info.plural, "*") for group, plural in self._needed)


def _infos(registration: Registration[Any]) -> list[ResourceInfo]:
    owned, watched = (one.info for one in registration.owns), (one.info for one in registration.watches)
    return [registration.info, *owned, *watched]


def _group_kind(info: ResourceInfo) -> tuple[str, str]:
    return info.group, info.kind
