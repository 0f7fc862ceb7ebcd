"""Pruning: objects that were applied for an owner and are not wanted any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from kubewright.api import Object, info_of
from kubewright.cache import ObjectKey, Snapshot
from kubewright.client import Client, Conflict, NotFound
from kubewright.controller.apply._cache_view import CacheView
from kubewright.controller.apply._errors import Outdated
from kubewright.controller.apply._request import key_for

__all__ = ["delete_leftover", "leftovers"]

_DELETE_ATTEMPTS: Final = 5


def leftovers(
    cache: CacheView, owner: Object, kinds: Iterable[type[Object]], keep: Iterable[Object], namespace: str
) -> list[Snapshot[Any]]:
    """Returns the objects of these kinds that were applied for this owner and are not in `keep`.

    `namespace` is that of kept objects without one, whose owner has none either.
    """
    if not owner.metadata.uid:
        raise ValueError(f"{owner} has no uid, so it cannot own anything: read it from the server first")
    kept = {(_group_kind(obj), key_for(owner, obj, namespace)) for obj in keep}
    return [
        snapshot
        for kind in kinds
        for snapshot in cache.controlled_by(kind, owner.metadata.uid)
        if (_group_kind(kind), snapshot.key) not in kept and snapshot.applied is not None and not snapshot.deleting
    ]


async def delete_leftover(
    client: Client,
    cache: CacheView,
    owner: Object,
    snapshot: Snapshot[Any],
    read: Callable[[tuple[type[Any], ObjectKey]], Awaitable[Snapshot[Any] | None]],
) -> bool:
    """Deletes an object if it is still controlled by the owner and applied by us. Returns whether it did."""
    current: Snapshot[Any] | None = snapshot
    for _ in range(_DELETE_ATTEMPTS):
        if current is None or current.deleting or current.applied is None:
            return False
        controller = current.controller
        if controller is None or controller.uid != owner.metadata.uid:
            return False
        try:
            await client.delete(
                current.kind,
                current.name,
                current.namespace or None,
                propagation="Background",
                uid=current.uid,
                # The version, too: another client may have changed the owner since we read it.
                resource_version=str(current.resource_version),
            )
        except NotFound as error:
            if error.missing == current.name:  # a 404 for the kind means that it is unavailable for a moment
                cache.removed(current.kind, current.key, current.uid)
            return False
        except Conflict:
            current = await read((current.kind, current.key))
            continue
        cache.removed(current.kind, current.key, current.uid)
        return True
    raise Outdated(f"{snapshot} keeps changing, so it could not be deleted; reconcile again")


def _group_kind(kind: type[Object] | Object) -> tuple[str, str]:
    info = info_of(kind)
    return info.group, info.kind
