"""`Needs`: a permission that a page or an action requires."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from kubewright.api import Object, info_of
from kubewright.console.access import Viewer
from kubewright.console.kinds import Kind

__all__ = ["Kinds", "Needs", "NeedsLike", "missing_need", "needs_of", "path_of"]


@dataclass(frozen=True)
class Needs:
    """A verb on a kind, and possibly on one of its subresources: `Needs("create", core.Pod, "exec")`.

    Without a kind, the one of the action's object.
    """

    verb: str
    kind: type[Object] | None = None
    subresource: str = ""

    def __post_init__(self) -> None:
        if not self.verb or not self.verb.isalpha() or not self.verb.islower():
            raise ValueError(f'the verb of Needs must be a verb such as "patch", not {self.verb!r}')
        if self.kind is not None:
            info_of(self.kind)


NeedsLike: TypeAlias = "str | Needs | Sequence[str | Needs]"
"""One need or several. A string is a verb on the kind of the action's object."""


class Kinds(Protocol):
    """Finds kinds of a cluster."""

    async def kind(self, path: str) -> Kind | None:
        """Returns the kind at a path such as `example.com/foos`, or None."""


def path_of(kind: type[Object]) -> str:
    """Returns the path of a kind in the console: `example.com/foos`."""
    info = info_of(kind)
    return f"{info.group or 'core'}/{info.plural}"


def needs_of(given: NeedsLike) -> tuple[Needs, ...]:
    """Returns the needs as a tuple."""
    several: Iterable[str | Needs] = [given] if isinstance(given, str | Needs) else given
    return tuple(Needs(one) if isinstance(one, str) else one for one in several)


async def missing_need(
    needs: Iterable[Needs], kinds: Kinds, viewer: Viewer, own: Kind | None, namespace: str, name: str = ""
) -> tuple[str, Kind | None, str] | None:
    """Returns the first permission that the viewer lacks: the verb, the kind, and a description.

    The kind is None if the cluster does not serve it.
    """
    for need in needs:
        kind = own if need.kind is None else await kinds.kind(path_of(need.kind))
        part = f"/{need.subresource}" if need.subresource else ""
        if kind is None:
            return (
                need.verb,
                None,
                f"{path_of(need.kind) if need.kind else ''}{part}, which this cluster does not serve",
            )
        # The name is that of the own object: a permission for one object suffices there.
        own_name = name if kind == own and need.verb not in ("create", "list", "watch", "deletecollection") else ""
        where = namespace if kind.namespaced else ""
        if await viewer.may(need.verb, kind, where or None, own_name or None, need.subresource):
            continue
        if not where and kind.namespaced and await _anywhere(need, kind, viewer):
            continue
        resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        return need.verb, kind, f"you need the verb “{need.verb}” on {resource}{part}"
    return None


async def _anywhere(need: Needs, kind: Kind, viewer: Viewer) -> bool:
    """Whether a viewer who may not list a kind in all namespaces may do so in one of them, or see single objects."""
    return need.verb == "list" and not need.subresource and bool(await viewer.namespaces_of(kind))
