"""`Caches`: the shared informers of a program."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from kubewright.api import Object, info_of
from kubewright.cache._arguments import Fields, IndexFunction, Labels, Transform
from kubewright.cache._errors import CacheSyncError
from kubewright.cache._informer import Informer
from kubewright.cache._lister import Lister
from kubewright.cache._options import CacheOptions
from kubewright.cache._snapshot import Change
from kubewright.client import Client
from kubewright.clock import Clock, SystemClock
from kubewright.durations import Duration, parse_duration

__all__ = ["Caches"]

logger = logging.getLogger("kubewright.cache")

R = TypeVar("R", bound=Object)

_Key = tuple[type[Object], CacheOptions]


class Caches:
    """One informer for each combination of kind and options. Informers with the same options are shared.

    `async with caches:` runs all informers, including those that are added later, and stops them at the end.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespaces: Sequence[str] = (),
        namespace_labels: Labels | None = None,
        field_manager: str | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """Sets the options that all informers share. `namespaces` is the default of informers without namespaces.

        With `namespace_labels`, informers without namespaces follow the namespaces that this label selector matches:
        a namespace that gains the labels is watched, and one that loses them is not watched any more. Handlers receive
        the objects of a new namespace when all caches contain it. Needs `list` and `watch` on namespaces.
        """
        self._client = client
        self._namespaces = tuple(namespaces)
        self._field_manager = field_manager
        self._clock = clock or SystemClock()
        self._rng = rng
        self._informers: dict[_Key, Informer[Any]] = {}
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._failed = asyncio.Event()
        self._running = False
        self._followed: Informer[Any] | None = None
        self._unsynced: dict[str, set[Informer[Any]]] = {}
        if namespace_labels is not None:
            self._followed = self._follow(namespace_labels)

    def informer(
        self,
        kind: type[R],
        *,
        namespaces: Sequence[str] | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        metadata_only: bool = False,
        transform: Transform | None = None,
        owned_by: Sequence[type[Object]] = (),
        optional: bool = False,
        indexes: Mapping[str, IndexFunction[R]] | None = None,
    ) -> Informer[R]:
        """Returns the informer for these objects. Creates it if it does not exist.

        Indexes are added to an existing informer. Pass the same function as `transform` each time: another function
        makes another informer, because a cache stores one form of an object. `Informer` describes the options.
        """
        if not info_of(kind).namespaced:
            where: tuple[str, ...] | None = ()
        elif namespaces is None:
            where = None if self._followed is not None else self._namespaces
        else:
            where = tuple(namespaces)
        options = CacheOptions.of(
            labels=labels,
            fields=fields,
            namespaces=where,
            metadata_only=metadata_only,
            transform=transform,
            owned_by=owned_by,
            optional=optional,
        )
        key: _Key = (kind, options)
        found = self._informers.get(key)
        if found is None:
            made = Informer(
                self._client,
                kind,
                namespaces=where or (),
                labels=labels,
                fields=fields,
                metadata_only=metadata_only,
                transform=transform,
                owned_by=owned_by,
                optional=optional,
                following=where is None,
                indexes=indexes,
                field_manager=self._field_manager,
                clock=self._clock,
                rng=self._rng,
            )
            self._informers[key] = made
            if made.following:
                self._join(made)
            if self._running:
                self._start(key, made)
            return made
        shared = cast("Informer[R]", found)
        for name, function in (indexes or {}).items():
            shared.add_index(name, function)
        return shared

    def lister(self, kind: type[R], *, namespaces: Sequence[str] | None = None) -> Lister[R]:
        """Returns the lister of the informer for a kind, without selectors."""
        return self.informer(kind, namespaces=namespaces).lister

    @property
    def informers(self) -> Sequence[Informer[Any]]:
        """All informers, in the order in which they were created."""
        return tuple(self._informers.values())

    @property
    def synced(self) -> bool:
        """Whether all informers are synced."""
        return all(informer.synced for informer in self._informers.values())

    async def wait_for_sync(self, timeout: Duration) -> None:
        """Waits until all are synced. Raises one `CacheSyncError` for all that are not, after that many seconds."""
        # This includes namespaces that are not known yet: informers that follow them are synced after the last one.
        results = await asyncio.gather(
            *(informer.wait_for_sync(timeout) for informer in self.informers), return_exceptions=True
        )
        reasons: dict[str, str] = {}
        for result in results:
            if isinstance(result, CacheSyncError):
                reasons |= result.reasons
            elif isinstance(result, BaseException):
                raise result
        if reasons:
            raise CacheSyncError(parse_duration(timeout), reasons)

    async def wait_for_failure(self) -> None:
        """Waits until an informer ends, and raises its error.

        Normally no informer ends, and this waits indefinitely.
        """
        await self._failed.wait()
        for task in self._tasks.values():
            if task.done():
                if not task.cancelled():
                    task.result()
                raise RuntimeError(f"the {task.get_name()} ended unexpectedly")

    # Namespaces by label

    @property
    def followed_namespaces(self) -> tuple[str, ...] | None:
        """The namespaces that `namespace_labels` matches now; None without it."""
        return None if self._followed is None else tuple(one.name for one in self._followed.lister.snapshots())

    def _follow(self, labels: Labels) -> Informer[Any]:
        from kubewright.api.core.v1 import Namespace  # imports all of core/v1, which few operators need for this

        followed = self.informer(Namespace, labels=labels, metadata_only=True)
        followed.add_handler(self._namespace_changed, name="namespaces")
        followed.when_synced(self._names_known)
        return followed

    def _names_known(self) -> None:
        for informer in self._following():
            informer.names_known()

    def _join(self, informer: Informer[Any]) -> None:
        """Adds the namespaces that are watched to a new informer."""
        assert self._followed is not None
        for namespace in self._followed.lister.snapshots():
            self._add_namespace(namespace.name, [informer])
        if self._followed.synced:
            informer.names_known()

    def _namespace_changed(self, change: Change[Any]) -> None:
        name = change.key.name
        if change.type == "added":
            self._add_namespace(name, self._following())
            if not change.initial:
                logger.info("namespace %s has the labels of this operator's namespaces: watching it", name)
        elif change.type == "deleted":
            deleted = change.old is not None and change.old.deleting
            self._unsynced.pop(name, None)
            for informer in self._following():
                informer.remove_namespace(name, deleted=deleted)
            why = "is deleted" if deleted else "does not have the labels of this operator's namespaces any more"
            logger.info("namespace %s %s: not watching it", name, why)

    def _following(self) -> list[Informer[Any]]:
        return [informer for informer in self._informers.values() if informer.following]

    def _add_namespace(self, name: str, informers: Sequence[Informer[Any]]) -> None:
        unsynced = self._unsynced.setdefault(name, set())
        unsynced.update(informers)

        def synced(informer: Informer[Any]) -> None:
            unsynced.discard(informer)
            if unsynced or self._unsynced.get(name) is not unsynced:
                return
            # Not earlier: a reconcile of an object reads the others in its namespace.
            del self._unsynced[name]
            for each in self._following():
                each.open_namespace(name)

        for informer in informers:
            informer.add_namespace(name, partial(synced, informer))

    async def __aenter__(self) -> Self:
        if self._running:
            raise RuntimeError("these caches are already running")
        self._running = True
        for key, informer in self._informers.items():
            self._start(key, informer)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running = False
        tasks, self._tasks = [*self._tasks.values()], {}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.result()  # it ends only with an error, which must not be lost

    def _start(self, key: _Key, informer: Informer[Any]) -> None:
        self._tasks[key] = task = asyncio.create_task(informer.run(), name=f"informer of {key[0].__name__}")
        # Also if something else cancelled it: a cache that is no longer filled must not go unnoticed.
        task.add_done_callback(lambda _: self._failed.set() if self._running else None)
