"""`LocalNode`: a process node in a thread, for commands that are not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from kubewright.cluster.processes import Images
    from kubewright.testing import ControlPlane

__all__ = ["LocalNode"]

_NAME = "node-1"


class LocalNode:
    """Runs a node of a control plane from `with` to its end. It also binds pods, because there is no scheduler."""

    def __init__(self, plane: ControlPlane, images: Images) -> None:
        self._plane = plane
        self._images = images
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kubewright-node", daemon=True)

    def __enter__(self) -> Self:
        self._stopped = asyncio.Event()
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            self._thread.join()
            raise self._error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._error = error
        finally:
            self._loop.close()
            self._ready.set()

    async def _serve(self) -> None:
        from kubewright.client import Client, load_config
        from kubewright.cluster.processes import ProcessNode

        credentials = self._plane.node_credentials(_NAME)
        config = load_config(kubeconfig=self._plane.kubeconfig)
        async with (
            Client(config) as client,
            ProcessNode(client, self._images, name=_NAME, credentials=credentials),
        ):
            self._ready.set()
            await self._stopped.wait()
