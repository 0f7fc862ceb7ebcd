"""`Relays`: the way of each pod to the API server, which a test can cut."""

from __future__ import annotations

from kubewright.cluster.services import Limit, Listener, Target


class Relays:
    """The way of each pod to the API server: a port for each. `cut` closes one, as a broken network would.

    No connection outlives `cut` and `stop`, even one that arrives at that moment. A connection that did would be
    discarded later, and Python would report it in an unrelated test.
    """

    def __init__(self, server: tuple[str, int], count: int) -> None:
        self._server = Target(*server)
        self._count = count
        self._limit = Limit(1_000)
        self._listeners: dict[int, Listener] = {}
        self.base = 0

    async def start(self) -> None:
        """Listens on consecutive ports that end with 0, 1, 2 …"""
        for base in range(21000, 32000, 10):
            self.base = base
            if all([await self.restore(index) for index in range(self._count)]):
                return
            await self.stop()
        raise OSError("no consecutive ports are free")

    async def restore(self, index: int) -> bool:
        """Opens the way of one pod. Returns False if its port is not free."""
        listener = self._listeners[index] = Listener(lambda: [self._server], self._limit)
        return await listener.listen("127.0.0.1", self.base + index)

    async def cut(self, index: int) -> None:
        """Closes the way of one pod, and its connections."""
        await self._listeners.pop(index).close()

    async def stop(self) -> None:
        """Closes all ways."""
        for index in list(self._listeners):
            await self.cut(index)
