"""`ObjectView`: everything that the console knows about one object, for one viewer. It draws nothing.

The data comes from the shared caches and from the operators that the console queries. Each refresh filters it by what
the viewer may see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewright.cache import CacheSyncError, ObjectKey
from kubewright.client import ApiError, Forbidden
from kubewright.console.access import Viewer, Visibility
from kubewright.console.caches import Batch, ObjectCache, Subscription
from kubewright.console.kinds import Kind
from kubewright.console.objects import (
    EVENT_PATHS,
    OWNER_LEVELS,
    OWNERS,
    Ancestry,
    EventLine,
    EventSubject,
    Health,
    Node,
    OwnerReference,
    ReconcileEntry,
    State,
    Tree,
    child_kinds,
    decode_object,
    event_lines,
    owned_tree,
    owner_references,
    reconcile_entries,
    resource_of,
)
from kubewright.console.operators import ControllerRef, ObjectInspection, OperatorUnavailable
from kubewright.observe import LogLine, WriteRecord

if TYPE_CHECKING:
    from kubewright.console._backend import Backend

__all__ = ["ControllerStatus", "ObjectView"]

_EVENTS_OF_CLUSTER: Final = "default"


@dataclass(frozen=True)
class ControllerStatus:
    """One controller's report about the object."""

    ref: ControllerRef
    inspected: ObjectInspection | None = None
    entries: Sequence[ReconcileEntry] = ()
    logs: Sequence[LogLine] = ()
    problem: str = ""
    """Why the controller reports nothing."""


class ObjectView:
    """One object as one viewer sees it, between `open` and `close`.

    Calls `changed` in the event loop when there is new data; `refresh` then updates all attributes.
    """

    def __init__(
        self, backend: Backend, viewer: Viewer, kind: Kind, key: ObjectKey, changed: Callable[[], object]
    ) -> None:
        self.backend = backend
        self.viewer = viewer
        self.kind = kind
        self.key = key
        self.obj: dict[str, Any] | None = None
        """The object, or its last state after it was deleted."""
        self.health = Health(State.UNKNOWN)
        self.uid = ""
        self.gone = False
        """Whether the object was deleted after it had been seen."""
        self.hidden = False
        """Whether the viewer lost access to the object."""
        self._may_get = False
        self.may_change = self.may_delete = False
        """Whether the viewer may patch and delete the object."""
        self.tree = Tree()
        self.ancestry = Ancestry()
        """The owners of the object that the viewer may see."""
        self.searched: Sequence[Kind] = ()
        """The kinds that were searched for owned objects."""
        self.unlisted: Sequence[Kind] = ()
        """Kinds that may contain owned objects but that the viewer or the console may not list."""
        self.events: Sequence[EventLine] = ()
        self.events_problem = ""
        self.controllers: Sequence[ControllerStatus] = ()
        self._changed = changed
        self._caches: dict[str, ObjectCache] = {}
        self._subscriptions: list[Subscription] = []
        self._unsubscribe: Callable[[], None] | None = None
        self._event_kind: Kind | None = None
        self._ready = False
        self._closed = False

    # Lifecycle

    async def open(self) -> None:
        """Opens the cache of the object's kind and subscribes to it. Raises what `Backend.cache` raises."""
        await self._follow(self.kind)
        self._unsubscribe = self.backend.operators.subscribe(self._changed)
        self._read()

    async def open_others(self) -> None:
        """Opens the caches of kinds that it may own, and of events. Call it after the page has been drawn."""
        kinds = await self.backend.kinds()
        owned = self.backend.operators.owned_by(self.kind.group, self.kind.kind)
        wanted = child_kinds(self.kind, kinds, owned)
        await asyncio.gather(*(self._follow_visible(kind) for kind in wanted), self._follow_events(kinds))
        self.searched = [kind for kind in wanted if kind.path in self._caches]
        self.unlisted = [kind for kind in wanted if kind.path not in self._caches]
        self._ready = True

    def close(self) -> None:
        """Closes all subscriptions."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._subscriptions.clear()
        self._caches.clear()

    async def _follow(self, kind: Kind) -> None:
        if kind.path in self._caches:
            return
        async with self.backend.cache(kind) as cache:
            if not self._closed:
                self._caches[kind.path] = cache
                self._subscriptions.append(cache.subscribe(self._batch_of(kind)))

    async def _follow_visible(self, kind: Kind) -> None:
        where = {self.key.namespace} if self.key.namespace else set(await self.backend.all_namespaces())
        if await self.viewer.visibility(kind, where):
            try:
                await self._follow(kind)
            except (Forbidden, CacheSyncError):
                return

    async def _follow_events(self, kinds: Sequence[Kind]) -> None:
        """Follows events in the first of both event APIs that the viewer and the console may list. Each API returns all
        events.
        """
        by_path = {kind.path: kind for kind in kinds}
        self.events_problem = "You may not list events in this namespace."
        for kind in (by_path[path] for path in EVENT_PATHS if path in by_path):
            if not await self.viewer.may("list", kind, self.key.namespace or _EVENTS_OF_CLUSTER):
                continue
            try:
                await self._follow(kind)
            except (Forbidden, CacheSyncError):
                self.events_problem = (
                    "The console's own account may not list events. Grant it list and watch on events."
                )
                continue
            self._event_kind, self.events_problem = kind, ""
            return

    def _batch_of(self, kind: Kind) -> Callable[[Batch], object]:
        own = kind == self.kind

        def on_batch(batch: Batch) -> None:
            if own:
                for key in batch.changed:
                    self._record_conditions(key)
            self._changed()

        return on_batch

    def _record_conditions(self, key: ObjectKey) -> None:
        """Records the conditions of every object of the kind, because conditions carry no history themselves."""
        snapshot = self._caches[self.kind.path].snapshot(*key) if self.kind.path in self._caches else None
        if snapshot is not None:
            self.backend.conditions.record(snapshot.uid, decode_object(snapshot.raw))

    # Updates

    @property
    def ready(self) -> bool:
        """Whether the other caches are open, so that an empty tree means that the object owns nothing."""
        return self._ready

    async def refresh(self, *, operators: bool = True) -> None:
        """Updates all attributes."""
        self.hidden = not await self.viewer.may_see(self.kind, self.key.namespace, self.key.name)
        if self.hidden:
            self.obj, self.tree, self.ancestry, self.events, self.controllers = None, Tree(), Ancestry(), (), ()
            return
        place = self.kind, self.key.namespace, self.key.name
        self._may_get = await self.viewer.may("get", *place)
        self._read()
        self.may_change = await self.viewer.may("patch", *place)
        self.may_delete = await self.viewer.may("delete", *place)
        if self._ready:
            self.tree = await self._tree()
            self.ancestry = await self._ancestry()
            self.events = await self._events()
        if operators:
            self.controllers = await self._controllers()

    def _read(self) -> None:
        cache = self._caches.get(self.kind.path)
        snapshot = None if cache is None else cache.snapshot(*self.key)
        if cache is None or snapshot is None:
            self.gone = self.obj is not None
            return
        self.gone = False
        self.obj, self.uid = decode_object(snapshot.raw), snapshot.uid
        self.health = cache.state(snapshot, show_error=self._may_get)
        self.obj = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **self.obj}
        self.backend.conditions.record(snapshot.uid, self.obj)

    def raw(self, path: str, namespace: str, name: str) -> bytes | None:
        """Returns the JSON of an object in `tree`, whose visibility was checked for it."""
        cache = self._caches.get(path)
        return None if cache is None else cache.get(namespace, name)

    async def _tree(self) -> Tree:
        caches = [self._caches[kind.path] for kind in self.searched if kind.path in self._caches]
        visibilities: dict[Kind, Visibility] = {}
        for cache in caches:
            where = {self.key.namespace} if self.key.namespace else cache.used_namespaces()
            visibilities[cache.kind] = await self.viewer.visibility(cache.kind, where)
        return owned_tree(
            self.key, self.uid, caches, lambda kind, key: visibilities[kind].allows(key.namespace, key.name)
        )

    async def _ancestry(self) -> Ancestry:
        levels: list[tuple[Node, ...]] = []
        hidden: dict[Kind, None] = {}
        missing: dict[str, None] = {}
        references, truncated = owner_references(self.obj or {})
        seen = {self.uid}
        while references and len(levels) < OWNER_LEVELS:
            nodes, above = [], dict[OwnerReference, None]()
            for reference in references:
                if reference.uid in seen:
                    continue  # a cycle, or an owner that was reached in two ways
                seen.add(reference.uid)
                kind = self._kind_of(reference)
                if kind is None:
                    missing[f"{reference.kind} {reference.name}"] = None
                    continue
                key = ObjectKey(self.key.namespace if kind.namespaced else "", reference.name)
                cache = await self._owner_cache(kind, key)
                if cache is None:
                    hidden[kind] = None
                    continue
                snapshot = cache.snapshot(*key)
                if snapshot is None or snapshot.uid != reference.uid:
                    missing[f"{reference.kind} {reference.name}"] = None
                    continue
                nodes.append(Node(kind, key, snapshot.uid, cache.state(snapshot)))
                more, cut = owner_references(decode_object(snapshot.raw))
                above.update(dict.fromkeys(more))
                truncated = truncated or cut
            if nodes:
                levels.append(tuple(nodes))
            references = [*above][:OWNERS]
            truncated = truncated or len(above) > OWNERS
        return Ancestry(tuple(levels), tuple(hidden), tuple(missing), truncated or bool(references))

    def _kind_of(self, reference: OwnerReference) -> Kind | None:
        wanted = reference.group, reference.kind
        return next((kind for kind in self.backend.known_kinds if (kind.group, kind.kind) == wanted), None)

    async def _owner_cache(self, kind: Kind, key: ObjectKey) -> ObjectCache | None:
        """Returns the cache of an owner's kind; None if the viewer or the console may not see the owner."""
        if not await self.viewer.may_see(kind, key.namespace, key.name):
            return None
        try:
            await self._follow(kind)
        except (Forbidden, CacheSyncError):
            return None
        return self._caches.get(kind.path)

    async def _events(self) -> list[EventLine]:
        kind = self._event_kind
        cache = self._caches.get(kind.path) if kind is not None else None
        if kind is None or cache is None:
            return []
        wanted = [EventSubject(self.kind.kind, self.key.namespace, self.key.name, self.uid)]
        wanted += [
            EventSubject(node.kind.kind, node.key.namespace, node.key.name, node.uid) for node in self.tree.walk()
        ]
        allowed = {
            namespace: await self.viewer.may("list", kind, namespace or _EVENTS_OF_CLUSTER)
            for namespace in {one.namespace for one in wanted}
        }
        seen = [one for one in wanted if allowed[one.namespace]]
        return event_lines(self.backend.events.about(cache.snapshots(), seen))

    async def _controllers(self) -> list[ControllerStatus]:
        """Returns what operators report. Requires `get` on the object, because reports contain more than a list."""
        controllers_of = self.backend.operators.controllers_of(self.kind.group, self.kind.kind)
        if not controllers_of or not self._may_get:
            return []
        return [await self._status(ref) for ref in controllers_of]

    async def _status(self, ref: ControllerRef) -> ControllerStatus:
        operator, name = ref.operator, ref.controller.name
        if operator.unavailable_since is not None:
            return ControllerStatus(ref, problem=operator.problem)
        try:
            inspected, logs = await operator.inspect(name, self.key), await operator.logs(name, self.key)
        except OperatorUnavailable as error:
            return ControllerStatus(ref, problem=str(error))
        if inspected is None:
            return ControllerStatus(ref, logs=logs)
        shown = await self._shown(inspected)
        return ControllerStatus(
            ref, inspected, reconcile_entries(inspected, lambda write: _written_object(write) in shown), logs
        )

    async def _shown(self, inspected: ObjectInspection) -> set[tuple[str, str, str]]:
        """Returns the written objects whose values may be shown: those that the viewer may `get`, except Secrets."""
        places = {
            _written_object(write)
            for (result, _), _values in inspected.values.items()
            for write in inspected.inspection.results[result].writes
        }
        found = set()
        for place in places:
            kind = await self.backend.kind(place[0])
            if kind is None or kind.secret:
                continue
            try:
                if await self.viewer.may("get", kind, place[1], place[2]):
                    found.add(place)
            except ApiError:
                continue
        return found


def _written_object(write: WriteRecord) -> tuple[str, str, str]:
    return resource_of(write), write.namespace, write.name
