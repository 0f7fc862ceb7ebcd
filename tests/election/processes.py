"""Processes that are paused, cut off, slow, and have bad clocks: all in virtual time.

Each process has its own connection to the server in memory, and its own clock.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any

from kubewright.client import Client, ConnectionLost, Request, Response
from kubewright.clock import Timer, VirtualClock
from kubewright.election import ElectionEvent, LeaderElector
from tests.transports.memory import MemoryServer

Json = dict[str, Any]


class LeaseServer(MemoryServer):
    """The server, with shortcuts to the Lease of the election."""

    def lease(self) -> Json:
        return self.tables["leases"]["ns", "lead"]

    def put_lease(self, spec: object) -> None:
        """Writes as an authorized intruder."""
        body: Json = {"metadata": {"name": "lead", "namespace": "ns"}}
        if spec is not None:
            body["spec"] = spec
        self.store("leases", ("ns", "lead"), body)

    def edit_lease(self, **spec: object) -> None:
        self.put_lease({**self.lease()["spec"], **spec})

    def delete_lease(self) -> None:
        self.tables["leases"].pop(("ns", "lead"), None)


class _HeldTimer:
    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback
        self.timer: Timer | None = None

    def cancel(self) -> None:
        self.callback = None
        if self.timer is not None:
            self.timer.cancel()

    def run(self) -> None:
        callback, self.callback = self.callback, None
        if callback is not None:
            callback()


class Process:
    """A replica: a clock that may run fast or slow or tell a wrong time, and a wire that may fail.

    While it is paused, no timer of its fires and no answer reaches it, but its clock goes on.
    """

    def __init__(
        self,
        name: str,
        server: LeaseServer,
        time: VirtualClock,
        *,
        rate: float = 1.0,
        skew: float = 0.0,
        latency: float = 0.0,
    ) -> None:
        self.name = name
        self.server = server
        self.time = time
        self.rate = rate
        self.skew = timedelta(seconds=skew)
        self.latency = latency
        self.cut = False
        self.deaf = False
        self.torn = False
        self.paused = False
        self._held: list[_HeldTimer] = []
        self._resumed = asyncio.Event()
        self._resumed.set()
        self.events: list[ElectionEvent] = []

    # Clock

    def now(self) -> datetime:
        return self.time.now() + self.skew

    def monotonic(self) -> float:
        return self.time.monotonic() * self.rate

    async def sleep(self, seconds: float, *, deferrable: bool = False) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        timer = self.call_later(seconds, woken.set)
        try:
            await woken.wait()
        finally:
            timer.cancel()

    def call_later(self, seconds: float, callback: Callable[[], object], *, deferrable: bool = False) -> Timer:
        held = _HeldTimer(callback)
        held.timer = self.time.call_later(seconds / self.rate, lambda: self._due(held))
        return held

    def limit(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return self.call_later(seconds, callback)

    def hold(self, work: str, name: Hashable | None = None) -> AbstractContextManager[object]:
        return self.time.hold(work, name)

    def serving(self, name: Hashable, *, foreign: bool = False) -> AbstractContextManager[object]:
        return self.time.serving(name, foreign=foreign)

    def _due(self, timer: _HeldTimer) -> None:
        if self.paused:
            self._held.append(timer)
        else:
            timer.run()

    def pause(self) -> None:
        self.paused = True
        self._resumed.clear()

    def resume(self, *, answers_first: bool = False) -> None:
        """Continues. Timers and responses of the pause arrive in either order."""
        self.paused = False
        held, self._held = self._held, []
        if not answers_first:
            for timer in held:
                timer.run()
        self._resumed.set()
        if answers_first:
            for timer in held:
                self.time.call_later(0.001, timer.run)

    # Transport

    async def send(self, request: Request) -> Response:
        """What is on its way arrives, also when the process is paused, gives up waiting, or has ended."""
        if request.before_send is not None:
            request.before_send()
        if self.torn:  # a library below cancels what it should not
            raise asyncio.CancelledError
        back = asyncio.Event()
        answers: list[Response] = []
        latency = self.latency

        def arrive() -> None:
            if not self.cut:
                answers.append(self.server.handle(request))
            self._after(latency, back.set)

        self._after(latency, arrive)
        await back.wait()
        await self._resumed.wait()
        if not answers or self.deaf:
            raise ConnectionLost("no answer", sent=bool(answers))
        return answers[0]

    def _after(self, seconds: float, call: Callable[[], object]) -> None:
        """The network continues while the process is paused."""
        if seconds:
            self.time.call_later(seconds, call)
        else:
            call()

    async def close(self) -> None:
        pass

    # Candidates

    def client(self) -> Client:
        return Client(transport=self, clock=self, rng=random.Random(1), namespace="ns")

    def elector(self, **options: Any) -> LeaderElector:
        options = {"identity": self.name, "rng": random.Random(self.name), "clock": self, **options}
        return LeaderElector(self.client(), "lead", "ns", on_event=self.events.append, **options)
