"""`DebugPages`: what is known about objects, as JSON, for tools on the same machine.

    /debug/kubewright                                      the controllers
    /debug/kubewright/objects                              the objects that are remembered, newest first
    /debug/kubewright/objects/CONTROLLER/NAMESPACE/NAME    one object (without a namespace: CONTROLLER/NAME)

No field of an object is shown, but names and error messages are: so whoever serves these pages does it on loopback
alone, unless the user asked for more (`is_loopback`).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import msgspec

from kubewright.cache import ObjectKey
from kubewright.observe._inspection import Observed, inspect

__all__ = ["DebugPages", "is_loopback"]

_LISTED_AT_MOST = 1_000


class _Controller(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    api_version: str
    kind: str
    reconciles: dict[str, int]
    active: int
    concurrency: int
    ready: int
    delayed: int
    remembered: int
    remembered_bytes: int


class _Object(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    controller: str
    namespace: str
    name: str
    result: str
    ended_at: datetime
    error: str


class DebugPages:
    """Answers the paths above. `controllers` is asked at each request, since they come and go."""

    def __init__(self, controllers: Callable[[], Sequence[Observed]]) -> None:
        self._controllers = controllers

    @staticmethod
    def may_ask(host: str) -> bool:
        """Whether a request with this `Host` header was sent to this machine by its address, or as localhost."""
        return is_loopback(urlsplit(f"//{host}").hostname or "")

    def answer(self, below: str) -> tuple[int, bytes]:
        """The HTTP status and the JSON, for a path below `/debug/kubewright`. For the controllers' event loop."""
        parts = below.strip("/").split("/")
        match parts:
            case [""]:
                return _json({"controllers": [self._summary(one) for one in self._controllers()]})
            case ["objects"]:
                return _json({"objects": list(islice(self._objects(), _LISTED_AT_MOST))})
            case ["objects", name, *where] if 1 <= len(where) <= 2 and all(where):
                return self._object(name, ObjectKey(where[0] if len(where) == 2 else "", where[-1]))
        return _problem(f"there is no page {below!r} here")

    def _object(self, name: str, key: ObjectKey) -> tuple[int, bytes]:
        for controller in self._controllers():
            if controller.name == name:
                found = inspect(controller, key)
                if found.cached is None and not found.results and found.queue.state == "idle":
                    return _problem(f"controller {name!r} knows no object {key}")
                return _json(found)
        names = ", ".join(controller.name for controller in self._controllers())
        return _problem(f"there is no controller {name!r}; there are: {names or 'none'}")

    def _objects(self) -> Iterator[_Object]:
        for controller in self._controllers():
            now, monotonic = controller.clock.now(), controller.clock.monotonic()
            for key in reversed(controller.history.objects()):
                newest = controller.history.of(key)[-1]
                yield _Object(
                    controller=controller.name,
                    namespace=key.namespace,
                    name=key.name,
                    result=newest.ending,
                    ended_at=now + timedelta(seconds=newest.ended - monotonic),
                    error=newest.error,
                )

    @staticmethod
    def _summary(controller: Observed) -> _Controller:
        queue = controller.queue.stats()
        return _Controller(
            name=controller.name,
            api_version=controller.info.api_version,
            kind=controller.info.kind,
            reconciles=dict(controller.stats.reconciles),
            active=controller.stats.active,
            concurrency=controller.concurrency,
            ready=queue.depth,
            delayed=queue.delayed,
            remembered=len(controller.history),
            remembered_bytes=controller.history.size + controller.history.change_size,
        )


def is_loopback(host: str) -> bool:
    """Whether a server that is bound to this host can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # another name, or nothing, which means every address
        return False


def _json(content: Any) -> tuple[int, bytes]:
    return 200, msgspec.json.encode(content)


def _problem(message: str) -> tuple[int, bytes]:
    return 404, msgspec.json.encode({"error": message})
