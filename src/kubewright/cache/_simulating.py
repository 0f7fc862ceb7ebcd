"""`simulate`: puts a state into a cache that no server has. For dry runs."""

from __future__ import annotations

from typing import Any

from kubewright.cache._informer import Informer
from kubewright.cache._key import ObjectKey
from kubewright.cache._store_writer import StoreWriter

__all__ = ["simulate"]


def simulate(informer: Informer[Any], key: ObjectKey, raw: bytes | None) -> None:
    """Stores a state, or a deletion for None, and notifies the handlers as the watch would.

    Objects that the informer does not cache are ignored. The watch must not deliver anything afterwards.
    """
    if informer.namespaces and key.namespace not in informer.namespaces:
        return
    writer = StoreWriter(informer._store, informer._overlay, informer._handlers.deliver)
    if raw is not None and informer._selects(raw):
        writer.put(informer._decoder.snapshot(raw))
    elif (last := informer._store.get(key)) is not None:
        writer.remove(last)
