"""`follow`: hear of every object of a kind, and of its end, whatever happens to the server meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kubewright.api import Object
from kubewright.client import Client, Gone, Timeout, TooManyRequests, Unavailable
from kubewright.clock import Clock
from kubewright.cluster.nodes._chores import RETRY_SECONDS

__all__ = ["follow"]

R = TypeVar("R", bound=Object)


async def follow(
    client: Client,
    kind: type[R],
    namespace: str | None,
    clock: Clock,
    *,
    seen: Callable[[R], None],
    gone: Callable[[str], None],
) -> None:
    """List and watch for ever. `seen` hears of each state of an object, `gone` of its uid when it is there no more."""
    known: set[str] = set()
    while True:
        try:
            listed = await client.list(kind, namespace)
            present = {obj.metadata.uid for obj in listed}
            for uid in known - present:
                gone(uid)
            known = present
            for obj in listed:
                seen(obj)
            async for event in client.watch(kind, namespace, resource_version=listed.resource_version):
                uid = event.object.metadata.uid
                if event.type == "DELETED":
                    known.discard(uid)
                    gone(uid)
                else:
                    known.add(uid)
                    seen(event.object)
        except (Gone, Timeout, TooManyRequests, Unavailable):
            await clock.sleep(RETRY_SECONDS)
