"""`Caches`: the shared informers of a program."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar, cast

from kubewright.api import FieldSelector, Object, info_of
from kubewright.cache._decoding import Transform
from kubewright.cache._errors import CacheSyncError
from kubewright.cache._indexes import IndexFunction
from kubewright.cache._informer import Fields, Informer
from kubewright.cache._lister import Labels, Lister, selector_of
from kubewright.client import Client
from kubewright.clock import Clock, SystemClock
from kubewright.durations import Duration, parse_duration

__all__ = ["Caches"]

R = TypeVar("R", bound=Object)

_Key: TypeAlias = tuple[type[Object], tuple[str, ...], str, str, bool]


class Caches:
    """One informer for each combination of kind, namespaces, selectors and mode.

    `async with caches:` runs all informers, including those that are added later, and stops them at the end.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespaces: Sequence[str] = (),
        field_manager: str | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """Sets the options that all informers share. `namespaces` is the default of informers without namespaces."""
        self._client = client
        self._namespaces = tuple(namespaces)
        self._field_manager = field_manager
        self._clock = clock or SystemClock()
        self._rng = rng
        self._informers: dict[_Key, Informer[Any]] = {}
        self._transforms: dict[_Key, Transform | None] = {}
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._failed = asyncio.Event()
        self._running = False

    def informer(
        self,
        kind: type[R],
        *,
        namespaces: Sequence[str] | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        metadata_only: bool = False,
        transform: Transform | None = None,
        indexes: Mapping[str, IndexFunction[R]] | None = None,
    ) -> Informer[R]:
        """Returns the informer for these objects. Creates it if it does not exist.

        Indexes are added to an existing informer. Its transform must be the same, because a cache stores one form of an
        object.
        """
        where = () if not info_of(kind).namespaced else self._namespaces if namespaces is None else tuple(namespaces)
        field_text = str(FieldSelector.from_fields(fields)) if isinstance(fields, Mapping) else str(fields or "")
        key: _Key = (kind, tuple(sorted(set(where))), str(selector_of(labels) or ""), field_text, metadata_only)
        found = self._informers.get(key)
        if found is None:
            made = Informer(
                self._client,
                kind,
                namespaces=where,
                labels=labels,
                fields=fields,
                metadata_only=metadata_only,
                transform=transform,
                indexes=indexes,
                field_manager=self._field_manager,
                clock=self._clock,
                rng=self._rng,
            )
            self._informers[key] = made
            self._transforms[key] = transform
            if self._running:
                self._start(key, made)
            return made
        if transform is not self._transforms[key]:
            raise ValueError(f"there is an informer of {kind.__name__} already, with another transform")
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

    async def __aenter__(self) -> Self:
        if self._running:
            raise RuntimeError("these caches are running already")
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
