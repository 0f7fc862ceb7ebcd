"""Caches of objects: one `ObjectCache` per kind, shared by all pages.

A `CachePool` opens a cache on first use and closes it after a minute without users. `CacheHandle` acquires a cache for
a block of code. The API server serves one watch per open cache, however many pages are open. `find_objects` searches
all kinds for a viewer.
"""

from __future__ import annotations

from kubewright.console.caches._finder import MAX_SEARCHED_KINDS, Found, find_objects, searched_kinds
from kubewright.console.caches._object_cache import Batch, CacheHealth, ObjectCache, Subscription
from kubewright.console.caches._pool import CacheHandle, CachePool
from kubewright.console.caches._rows import Row

__all__ = [
    "MAX_SEARCHED_KINDS",
    "Batch",
    "CacheHandle",
    "CacheHealth",
    "CachePool",
    "Found",
    "ObjectCache",
    "Row",
    "Subscription",
    "find_objects",
    "searched_kinds",
]
