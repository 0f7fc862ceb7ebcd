"""`CachePool`: opens caches on first use, and closes them when they are idle."""

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
    """Access to a cache that is opened on first use.

    `async with backend.cache(kind) as cache` keeps it open for the block. `await backend.cache(kind)` returns it for a
    subscription: it closes after a minute without users. Both wait until the cache is in sync.
    """

    def __init__(self, pool: CachePool, kind: Kind) -> None:
        self._pool = pool
        self._kind = kind
        self._cache: ObjectCache | None = None

    def __await__(self) -> Generator[Any, None, ObjectCache]:
        return self._open_once().__await__()

    async def _open_once(self) -> ObjectCache:
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
    """One cache for each kind in use. Checks the health of open caches once a second."""

    def __init__(self, make: Callable[[Kind, Callable[[], None]], Awaitable[ObjectCache]], clock: Clock) -> None:
        """Takes a function that creates the cache of a kind. The cache calls the callback when its last user leaves."""
        self._make = make
        self._clock = clock
        self._caches: dict[Kind, ObjectCache] = {}
        self._opening: dict[Kind, asyncio.Lock] = {}
        self._timers: dict[Kind, Timer] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._health_timer: Timer | None = None

    @property
    def caches(self) -> list[ObjectCache]:
        """The caches that are open now. Each costs the API server one watch."""
        return [*self._caches.values()]

    async def open(self, kind: Kind) -> ObjectCache:
        """Returns the cache of a kind, acquired for the caller, who must release it. It may not be in sync yet."""
        async with self._opening.setdefault(kind, asyncio.Lock()):
            timer = self._timers.pop(kind, None)
            if timer is not None:
                timer.cancel()
            cache = self._caches.get(kind)
            if cache is None:
                cache = await self._make(kind, lambda: self._close_later(kind))
                cache.open()
                if not cache.forbidden:  # a forbidden cache is not kept, so that the next call notices a new permission
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
        """Starts the health checks."""
        for cache in self.caches:
            cache.refresh_health()
        self._health_timer = self._clock.call_later(_HEALTH_SECONDS, self.start)

    async def stop(self) -> None:
        """Closes all caches."""
        if self._health_timer is not None:
            self._health_timer.cancel()
        for timer in self._timers.values():
            timer.cancel()
        caches, self._caches = self.caches, {}
        await asyncio.gather(*(cache.close() for cache in caches), *self._closing)
