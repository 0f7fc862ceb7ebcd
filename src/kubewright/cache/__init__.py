"""Caches: the objects of a cluster in memory, kept up to date by watching them.

Data flows one way: the server's watch → reflector → store → handlers and listers. `Informer` does all of this for one
kind; `Caches` shares informers; `Lister` reads:

    async with Informer(client, apps.Deployment, namespaces=["shop"]) as deployments:
        deployments.add_handler(lambda change: queue.add(change.key))
        await deployments.wait_for_sync(30)
        web = deployments.lister.get("web", "shop")

`Reflector` and `Store` can be used without an informer, too.

The store keeps each object's JSON and a small header (`Snapshot`). Each read decodes a new object, which belongs to the
reader alone. Reads are plain calls, safe from any thread. They include this program's own writes as soon as it passes
the responses to `Informer.written` and `Informer.removed`; handlers receive confirmed states only.

If a cache does not fill, `CacheSyncError` names the kind, the forbidden verb and the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cache._arguments import Fields, IndexFunction, Labels, Transform, selector_of
    from kubewright.cache._caches import Caches
    from kubewright.cache._decoding import SnapshotDecoder, transform_json, whole_kind
    from kubewright.cache._errors import CacheSyncError
    from kubewright.cache._handlers import Handler, HandlerRegistration
    from kubewright.cache._header import applied_digest, creator_of
    from kubewright.cache._health import WatchHealth, WatchState, combined
    from kubewright.cache._informer import Informer
    from kubewright.cache._key import NAMESPACE_INDEX, OWNER_INDEX, ObjectKey
    from kubewright.cache._list_watch import ListWatch
    from kubewright.cache._lister import Lister
    from kubewright.cache._options import CacheOptions
    from kubewright.cache._reflector import Reflector
    from kubewright.cache._simulating import simulate
    from kubewright.cache._snapshot import Change, ChangeType, Owner, Snapshot
    from kubewright.cache._store import Store

_MODULES = {
    "NAMESPACE_INDEX": "_key",
    "OWNER_INDEX": "_key",
    "CacheOptions": "_options",
    "CacheSyncError": "_errors",
    "Caches": "_caches",
    "Change": "_snapshot",
    "ChangeType": "_snapshot",
    "Fields": "_arguments",
    "Handler": "_handlers",
    "HandlerRegistration": "_handlers",
    "IndexFunction": "_arguments",
    "Informer": "_informer",
    "Labels": "_arguments",
    "ListWatch": "_list_watch",
    "Lister": "_lister",
    "ObjectKey": "_key",
    "Owner": "_snapshot",
    "Reflector": "_reflector",
    "Snapshot": "_snapshot",
    "SnapshotDecoder": "_decoding",
    "Store": "_store",
    "Transform": "_arguments",
    "WatchHealth": "_health",
    "WatchState": "_health",
    "applied_digest": "_header",
    "combined": "_health",
    "creator_of": "_header",
    "selector_of": "_arguments",
    "simulate": "_simulating",
    "transform_json": "_decoding",
    "whole_kind": "_decoding",
}

__all__ = [
    "NAMESPACE_INDEX",
    "OWNER_INDEX",
    "CacheOptions",
    "CacheSyncError",
    "Caches",
    "Change",
    "ChangeType",
    "Fields",
    "Handler",
    "HandlerRegistration",
    "IndexFunction",
    "Informer",
    "Labels",
    "ListWatch",
    "Lister",
    "ObjectKey",
    "Owner",
    "Reflector",
    "Snapshot",
    "SnapshotDecoder",
    "Store",
    "Transform",
    "WatchHealth",
    "WatchState",
    "applied_digest",
    "combined",
    "creator_of",
    "selector_of",
    "simulate",
    "transform_json",
    "whole_kind",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
