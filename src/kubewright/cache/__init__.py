"""Caches: what the cluster holds, kept up to date by watching it.

Data flows one way: the server's watch → reflector → store → handlers and listers. `Informer` is all of it for one kind;
`Caches` shares informers between those who need the same; `Lister` reads.
"""

from __future__ import annotations

from kubewright.cache._key import ObjectKey
from kubewright.cache._snapshot import Change, ChangeType, Owner, Snapshot

__all__ = ["Change", "ChangeType", "ObjectKey", "Owner", "Snapshot"]
