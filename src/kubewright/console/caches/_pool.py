"""`CachePool`: the caches of a console, opened when somebody needs them and closed when nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, Final

from kubewright.clock import Clock, Timer
from kubewright.console.caches._object_cache import ObjectCache
from kubewright.console.kinds import Kind

__all__ = ["CacheHandle", "CachePool"]

_IDLE_SECONDS: Final = 60.0
_HEALTH_SECONDS: Final = 1.0


class CacheHandle:
    """A cache that is opened when it is needed, and filled when it is given.

    `async with console.cache(kind) as cache` users it for the block. `await console.cache(kind)` gives it to whoever
    subscribes next: it closes after a minute in which nobody users it or listens to it.
    """

    def __init__(self, pool: CachePool, kind: Kind) -> None:
        self._pool = pool
        self._kind = kind
        self._cache: ObjectCache | None = None

    def __await__(self) -> Generator[Any, None, ObjectCache]:
        return self._filled().__await__()

    async def _filled(self) -> ObjectCache:
        async with self as cache:
            return cache

    async def __aenter__(self) -> ObjectCache:
        cache = await self._pool.open(self._kind)
        try:
            await cache.wait_for_sync()
        except BaseException:
            cache.release()
            raise
        self._cache = cache
        return cache

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._cache is not None
        self._cache.release()
        self._cache = None


class CachePool:
    """One cache for each kind that somebody looks at. It also looks after their health, once a second."""

    def __init__(self, make: Callable[[Kind, Callable[[], None]], Awaitable[ObjectCache]], clock: Clock) -> None:
        """`make` makes the cache of a kind, which calls what it is given when nobody users it any more."""
        self._make = make
        self._clock = clock
        self._caches: dict[Kind, ObjectCache] = {}
        self._opening: dict[Kind, asyncio.Lock] = {}
        self._timers: dict[Kind, Timer] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._health_timer: Timer | None = None

    @property
    def caches(self) -> list[ObjectCache]:
        """Those that are open just now: each costs the API server one watch."""
        return [*self._caches.values()]

    async def open(self, kind: Kind) -> ObjectCache:
        """The cache, held for the caller, who releases it. It may still be filling."""
        async with self._opening.setdefault(kind, asyncio.Lock()):
            timer = self._timers.pop(kind, None)
            if timer is not None:
                timer.cancel()
            cache = self._caches.get(kind)
            if cache is None:
                cache = await self._make(kind, lambda: self._close_later(kind))
                cache.open()
                if not cache.forbidden:  # else it is tried anew: somebody may grant it
                    self._caches[kind] = cache
            cache.redefine(kind)
            cache.acquire()
            return cache

    def _close_later(self, kind: Kind) -> None:
        if kind not in self._timers and kind in self._caches:
            self._timers[kind] = self._clock.call_later(_IDLE_SECONDS, lambda: self._close_idle(kind))

    def _close_idle(self, kind: Kind) -> None:
        self._timers.pop(kind, None)
        cache = self._caches.get(kind)
        if cache is not None and not cache.users:
            del self._caches[kind]
            task = asyncio.create_task(cache.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def start(self) -> None:
        """Begin to look after them."""
        for cache in self.caches:
            cache.refresh_health()
        self._health_timer = self._clock.call_later(_HEALTH_SECONDS, self.start)

    async def stop(self) -> None:
        """Close all."""
        if self._health_timer is not None:
            self._health_timer.cancel()
        for timer in self._timers.values():
            timer.cancel()
        caches, self._caches = self.caches, {}
        await asyncio.gather(*(cache.close() for cache in caches), *self._closing)
