"""`Look`: one object, and all that is known about it, for one viewer. It draws nothing.

Everything comes from shelves that all pages share, and from the operators that the console knows; and everything is
filtered by what the viewer may see, each time anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kubewright.api.wire import UNREADABLE
from kubewright.cache import CacheSyncError, ObjectKey, Snapshot
from kubewright.client import ApiError, Forbidden
from kubewright.console._access import Sight
from kubewright.console._events import About, EventLine, lines_of
from kubewright.console._kinds import Kind
from kubewright.console._owned import Tree, health_of, kinds_below, tree_of
from kubewright.console._shelves import Batch, Shelf, Subscription
from kubewright.console._states import Health, State
from kubewright.console._timeline import Turn, resource_of, turns_of
from kubewright.console._viewers import Viewer
from kubewright.console.operators import Known, OperatorAway, Teller
from kubewright.observe import LogLine, WriteRecord

if TYPE_CHECKING:
    from kubewright.console._app import Console

__all__ = ["Look", "Told"]

_EVENTS: Final = ("core/events", "events.k8s.io/events")
_EVENTS_OF_CLUSTER: Final = "default"


@dataclass(frozen=True)
class Told:
    """What one controller tells about the object."""

    teller: Teller
    known: Known | None = None
    turns: Sequence[Turn] = ()
    logs: Sequence[LogLine] = ()
    problem: str = ""
    """Why it tells nothing."""


class Look:
    """One object for one viewer, from `open` to `close`.

    `changed` is called in the event loop when there is something new; `refresh` then brings everything up to date.
    """

    def __init__(
        self, console: Console, viewer: Viewer, kind: Kind, key: ObjectKey, changed: Callable[[], object]
    ) -> None:
        self.console = console
        self.viewer = viewer
        self.kind = kind
        self.key = key
        self.obj: dict[str, Any] | None = None
        """The object; as it was last, when it is gone."""
        self.health = Health(State.UNKNOWN)
        self.uid = ""
        self.gone = False
        """Whether it was there and is not any more."""
        self.hidden = False
        """Whether the viewer may not see it any more."""
        self.may_change = self.may_delete = False
        """Whether the viewer may patch it, and delete it."""
        self.tree = Tree()
        self.searched: Sequence[Kind] = ()
        """The kinds in which children were looked for."""
        self.unlisted: Sequence[Kind] = ()
        """Kinds in which children may be that the viewer, or the console, may not list."""
        self.events: Sequence[EventLine] = ()
        self.events_problem = ""
        self.told: Sequence[Told] = ()
        self._changed = changed
        self._shelves: dict[str, Shelf] = {}
        self._subscriptions: list[Subscription] = []
        self._unsubscribe: Callable[[], None] | None = None
        self._event_kind: Kind | None = None
        self._ready = False
        self._closed = False

    # Life

    async def open(self) -> None:
        """Open the shelf of the object's own kind, and listen. Raises what `Console.shelf` raises."""
        await self._follow(self.kind)
        self._unsubscribe = self.console.operators.subscribe(self._changed)
        self._read()

    async def open_others(self) -> None:
        """Open the shelves of what it may own, and of events: as long as the page is already there to be read."""
        kinds = await self.console.kinds()
        owned = self.console.operators.owned_by(self.kind.group, self.kind.kind)
        wanted = kinds_below(self.kind, kinds, owned)
        await asyncio.gather(*(self._follow_if_allowed(kind) for kind in wanted), self._follow_events(kinds))
        self.searched = [kind for kind in wanted if kind.path in self._shelves]
        self.unlisted = [kind for kind in wanted if kind.path not in self._shelves]
        self._ready = True

    def close(self) -> None:
        """Let go of everything."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._subscriptions.clear()
        self._shelves.clear()

    async def _follow(self, kind: Kind) -> None:
        if kind.path in self._shelves:
            return
        async with self.console.shelf(kind) as shelf:
            if not self._closed:
                self._shelves[kind.path] = shelf
                self._subscriptions.append(shelf.subscribe(self._batch_of(kind)))

    async def _follow_if_allowed(self, kind: Kind) -> None:
        where = {self.key.namespace} if self.key.namespace else set(await self.console.all_namespaces())
        if await self.viewer.sight(kind, where):
            try:
                await self._follow(kind)
            except (Forbidden, CacheSyncError):
                return

    async def _follow_events(self, kinds: Sequence[Kind]) -> None:
        """An event is in both APIs: whichever the viewer and the console may list shows all of them."""
        by_path = {kind.path: kind for kind in kinds}
        self.events_problem = "You may not list events here."
        for kind in (by_path[path] for path in _EVENTS if path in by_path):
            if not await self.viewer.may("list", kind, self.key.namespace or _EVENTS_OF_CLUSTER):
                continue
            try:
                await self._follow(kind)
            except (Forbidden, CacheSyncError):
                self.events_problem = "The console itself may not list events: grant its account list and watch."
                continue
            self._event_kind, self.events_problem = kind, ""
            return

    def _batch_of(self, kind: Kind) -> Callable[[Batch], object]:
        own = kind == self.kind

        def hear(batch: Batch) -> None:
            if own:
                for key in batch.changed:
                    self._remember(key)
            self._changed()

        return hear

    def _remember(self, key: ObjectKey) -> None:
        """Conditions have no memory of their own: every object of the kind is noted while somebody looks at one."""
        snapshot = self._shelves[self.kind.path].snapshot(*key) if self.kind.path in self._shelves else None
        if snapshot is not None:
            self.console.conditions.see(snapshot.uid, _decoded(snapshot))

    # Bringing it up to date

    @property
    def ready(self) -> bool:
        """Whether the other shelves are open, so that no children means that there are none."""
        return self._ready

    async def refresh(self, *, operators: bool = True) -> None:
        """Read everything anew."""
        self.hidden = not await self.viewer.may_see(self.kind, self.key.namespace, self.key.name)
        if self.hidden:
            self.obj, self.tree, self.events, self.told = None, Tree(), (), ()
            return
        self._read()
        place = self.kind, self.key.namespace, self.key.name
        self.may_change = await self.viewer.may("patch", *place)
        self.may_delete = await self.viewer.may("delete", *place)
        if self._ready:
            self.tree = await self._tree()
            self.events = await self._events()
        if operators:
            self.told = await self._tell()

    def _read(self) -> None:
        snapshot = self._shelves[self.kind.path].snapshot(*self.key) if self.kind.path in self._shelves else None
        if snapshot is None:
            self.gone = self.obj is not None
            return
        self.gone = False
        self.obj, self.uid, self.health = _decoded(snapshot), snapshot.uid, health_of(self.kind, snapshot)
        self.obj = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **self.obj}
        self.console.conditions.see(snapshot.uid, self.obj)

    async def _tree(self) -> Tree:
        shelves = [self._shelves[kind.path] for kind in self.searched if kind.path in self._shelves]
        sights: dict[Kind, Sight] = {}
        for shelf in shelves:
            where = {self.key.namespace} if self.key.namespace else shelf.used_namespaces()
            sights[shelf.kind] = await self.viewer.sight(shelf.kind, where)
        return tree_of(self.key, self.uid, shelves, lambda kind, key: sights[kind].allows(key.namespace, key.name))

    async def _events(self) -> list[EventLine]:
        kind = self._event_kind
        shelf = self._shelves.get(kind.path) if kind is not None else None
        if kind is None or shelf is None:
            return []
        wanted = [About(self.kind.kind, self.key.namespace, self.key.name, self.uid)]
        wanted += [About(node.kind.kind, node.key.namespace, node.key.name, node.uid) for node in self.tree.walk()]
        allowed = {
            namespace: await self.viewer.may("list", kind, namespace or _EVENTS_OF_CLUSTER)
            for namespace in {one.namespace for one in wanted}
        }
        seen = [one for one in wanted if allowed[one.namespace]]
        return lines_of(self.console.events.about(shelf.snapshots(), seen))

    async def _tell(self) -> list[Told]:
        """What operators know; only for those who may `get` the object, of which this tells more than a list does."""
        tellers = self.console.operators.tellers(self.kind.group, self.kind.kind)
        if not tellers or not await self.viewer.may("get", self.kind, self.key.namespace, self.key.name):
            return []
        return [await self._told(teller) for teller in tellers]

    async def _told(self, teller: Teller) -> Told:
        operator, name = teller.operator, teller.controller.name
        if operator.away_since is not None:
            return Told(teller, problem=operator.problem)
        try:
            known, logs = await operator.known(name, self.key), await operator.logs(name, self.key)
        except OperatorAway as error:
            return Told(teller, problem=str(error))
        if known is None:
            return Told(teller, logs=logs)
        shown = await self._shown(known)
        return Told(teller, known, turns_of(known, lambda write: _place(write) in shown), logs)

    async def _shown(self, known: Known) -> set[tuple[str, str, str]]:
        """The written objects whose values this viewer may see: those that he may `get`, Secrets never."""
        places = {
            _place(write)
            for (result, _), _values in known.values.items()
            for write in known.inspection.results[result].writes
        }
        found = set()
        for place in places:
            kind = await self.console.kind(place[0])
            if kind is None or kind.secret:
                continue
            try:
                if await self.viewer.may("get", kind, place[1], place[2]):
                    found.add(place)
            except ApiError:
                continue
        return found


def _place(write: WriteRecord) -> tuple[str, str, str]:
    return resource_of(write), write.namespace, write.name


def _decoded(snapshot: Snapshot[Any]) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(snapshot.raw)
    except UNREADABLE:
        return {}
    return found if isinstance(found, dict) else {}
