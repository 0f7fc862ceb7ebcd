"""`LocalNode`: a process node and the Services of its pods in a thread, for commands that are not asynchronous."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from kubewright.cli.local._run_pods import RunPods
    from kubewright.testing import ControlPlane

__all__ = ["LocalNode", "loopback_services"]

_NAME = "node-1"


class LocalNode:
    """Runs a node of a control plane from `with` to its end, and forwards Services to its pods, as kube-proxy does.

    It also binds pods, because there is no scheduler.
    """

    def __init__(self, plane: ControlPlane, pods: RunPods) -> None:
        self._plane = plane
        self._pods = pods
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
        from kubewright.cluster.services import ServiceForwarder

        credentials = self._plane.node_credentials(_NAME)
        config = load_config(kubeconfig=self._plane.kubeconfig)
        async with (
            Client(config) as client,
            ServiceForwarder(client) as forwarder,
            ProcessNode(
                client,
                self._pods.images,
                name=_NAME,
                credentials=credentials,
                services=forwarder.environment,
                storage=self._pods.storage,
                host_root=self._pods.host_root,
            ),
        ):
            self._ready.set()
            await self._stopped.wait()


@contextlib.contextmanager
def loopback_services() -> Iterator[dict[str, str]]:
    """Yields flags of kube-apiserver that put cluster IPs on loopback addresses, which no other cluster uses.

    Without such addresses there are no flags, and Services are reached on ports of 127.0.0.1.
    """
    from kubewright.cluster.services import LoopbackBlock, NoLoopback

    try:
        block = LoopbackBlock.for_services()
    except NoLoopback:
        yield {}
        return
    with contextlib.closing(block):
        yield {"service-cluster-ip-range": str(block.network)}
