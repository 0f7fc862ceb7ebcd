"""`Running`: an operator at work."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from kubewright.api import Object
from kubewright.cache import Caches, Labels, ObjectKey
from kubewright.client import Client, load_config
from kubewright.clock import SystemClock
from kubewright.controller import Applier, Controller, Environment, Registration
from kubewright.controller._environment import CachedKinds
from kubewright.controller._mapping import as_key

if TYPE_CHECKING:
    from kubewright.operator._operator import Operator

__all__ = ["HasKubeconfig", "Running"]

R = TypeVar("R", bound=Object)

logger = logging.getLogger("kubewright.operator")


class HasKubeconfig(Protocol):
    """A cluster that can be reached by a kubeconfig file."""

    @property
    def kubeconfig(self) -> str | os.PathLike[str]:
        """The path of the file."""


class Running:
    """One run of an operator, from `async with` to its end. An operator can run several times, one after the other.

    Entering waits until all caches are in sync and the workers have started; it raises `CacheSyncError` when a cache
    does not fill, naming the kind and the reason. Leaving lets running reconciles finish.
    """

    def __init__(
        self, operator: Operator, cluster: Client | HasKubeconfig | None = None, *, install_crds: bool = False
    ) -> None:
        self._operator = operator
        self._install_crds = install_crds
        self._cluster = cluster
        self._stack = AsyncExitStack()
        self._client: Client | None = None
        self._grace = operator.grace_period
        self.controllers: list[Controller[Any]] = []

    # Life

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logger.info("operator %s is stopping", self._operator.name)
        await self._stack.aclose()

    async def _start(self) -> None:
        from kubewright.events import EventRecorder  # with all of core/v1: not needed to import an operator

        operator, clock = self._operator, self._operator.clock or SystemClock()
        registrations = operator.registrations()
        if not registrations:
            raise ValueError(f"operator {operator.name!r} has nothing to do: register a reconciler first")
        self._client = client = (await self._connect()).writing_as(operator.name)
        if self._install_crds:
            await _install(client, registrations)
        # Everything that is left open when the stack unwinds is closed in the reverse order.
        recorder = await self._stack.enter_async_context(EventRecorder(client, operator.name, clock=clock))
        caches = Caches(
            client, namespaces=operator.namespaces, field_manager=operator.name, clock=clock, rng=operator.rng
        )
        kinds = CachedKinds(operator.namespaces)
        environment = Environment(
            client=client,
            caches=kinds,
            applier=Applier(client, kinds, field_manager=operator.name),
            recorder=recorder,
            clock=clock,
            loop=asyncio.get_running_loop(),
            rng=operator.rng or random.Random(),  # noqa: S311  # for the ids of traces, which are no secret
        )
        for registration in registrations:
            for kind, labels in _kinds_of(registration):
                kinds.add(kind, labels, caches.informer(kind, labels=labels))
            self.controllers.append(Controller(registration, environment))
        # Listening before the caches run: so that each handler hears the initial list marked as such.
        for controller in self.controllers:
            controller.listen()
        await self._stack.enter_async_context(caches)
        self._stack.push_async_callback(self._stop_controllers)
        await caches.wait_for_sync(operator.sync_timeout)
        for controller in self.controllers:
            controller.start()
        logger.info("operator %s has started, with %d caches in sync", operator.name, len(caches.informers))

    async def _connect(self) -> Client:
        cluster = self._cluster
        if isinstance(cluster, Client):
            return cluster
        kubeconfig = cluster.kubeconfig if cluster is not None else None
        client = Client(load_config(kubeconfig=kubeconfig), clock=self._operator.clock, rng=self._operator.rng)
        return await self._stack.enter_async_context(client)

    async def _stop_controllers(self) -> None:
        # All at once: the grace period is the operator's, not each controller's.
        await asyncio.gather(*(controller.stop(self._grace) for controller in self.controllers))

    def stop_now(self) -> None:
        """Let leaving not wait for running reconciles, but interrupt them."""
        self._grace = 0.0
        for controller in self.controllers:
            controller.interrupt()

    # Looking and prodding

    @property
    def client(self) -> Client:
        """The client that the operator works with."""
        if self._client is None:
            raise RuntimeError("the operator is not running: use it as `async with operator.running() as running`")
        return self._client

    def controller(self, kind: type[R]) -> Controller[R]:
        """The first controller of that kind."""
        for controller in self.controllers:
            if controller.kind is kind:
                return controller
        raise LookupError(f"operator {self._operator.name!r} has no controller of {kind.__name__}")

    def enqueue(self, kind: type[Object], key: ObjectKey | Object | str) -> None:
        """Ask for a reconcile, from any thread."""
        self.controller(kind).enqueue(as_key(key))


async def _install(client: Client, registrations: Sequence[Registration[Any]]) -> None:
    """Define the kinds that are reconciled and that Kubernetes does not have by itself."""
    from kubewright.crd import install  # with all of apiextensions/v1: not needed in production

    own = {registration.kind for registration in registrations if hasattr(registration.kind, "__definition__")}
    if own:
        await install(client, *own)


def _kinds_of(registration: Registration[Any]) -> Sequence[tuple[type[Object], Labels | None]]:
    return [
        (registration.kind, registration.labels),
        *((owns.kind, owns.labels) for owns in registration.owns),
        *((watch.kind, watch.labels) for watch in registration.watches),
        *((kind, None) for kind in registration.reads),
    ]
