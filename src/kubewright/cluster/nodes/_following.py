"""`follow`: reports every state and the deletion of all objects of a kind, despite failures of the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kubewright.api import Object
from kubewright.client import Client, Gone, Timeout, TooManyRequests, Unavailable
from kubewright.clock import Clock
from kubewright.cluster.nodes._tasks import RETRY_SECONDS

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
    known: Iterable[str] = (),
) -> None:
    """Lists and watches until canceled. Calls `seen` with each state of an object, `gone` with a deleted uid.

    `known` are uids of objects that the caller has listed itself.
    """
    known = set(known)
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
