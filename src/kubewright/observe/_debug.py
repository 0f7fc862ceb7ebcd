"""`DebugPages`: JSON about an operator and its objects, for tools on the same machine.

    /debug/kubewright                                      the operator: controllers, caches, leader, webhooks
    /debug/kubewright/failing                              the objects whose last reconcile failed, at most 1,000
    /debug/kubewright/objects                              the remembered objects, newest first
    /debug/kubewright/objects/CONTROLLER/NAMESPACE/NAME    one object (without a namespace: CONTROLLER/NAME)
    /debug/kubewright/logs/CONTROLLER/NAMESPACE/NAME       its last log records, the newest last

The pages contain no fields of objects, but names and error messages. Serve them on loopback only (`is_loopback`),
unless the user requests more.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import msgspec

from kubewright.cache import ObjectKey
from kubewright.observe._failing import failing_objects
from kubewright.observe._inspection import inspect
from kubewright.observe._logbook import LogBook
from kubewright.observe._report import report
from kubewright.observe._sources import Sources

__all__ = ["DebugPages", "is_loopback"]

_LISTED_AT_MOST = 1_000


class _Object(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    controller: str
    namespace: str
    name: str
    result: str
    ended_at: datetime
    error: str


class DebugPages:
    """Serves the paths above.

    Args:
        sources: the parts of the operator. They are called for each request, because parts start and stop.
        name: the name of the operator.
        started_at: when it started.
        logs: the log records, if they are kept.
    """

    def __init__(
        self, sources: Sources, *, name: str = "", started_at: datetime | None = None, logs: LogBook | None = None
    ) -> None:
        self._sources = sources
        self._controllers = sources.controllers
        self._name = name
        self._started_at = started_at
        self._logs = LogBook() if logs is None else logs

    @staticmethod
    def may_ask(host: str) -> bool:
        """Whether the `Host` header names this machine by its address, or as localhost."""
        return is_loopback(urlsplit(f"//{host}").hostname or "")

    def answer(self, below: str) -> tuple[int, bytes]:
        """Returns the HTTP status and the JSON of a path below `/debug/kubewright`.

        Call it in the controllers' event loop.
        """
        parts = below.strip("/").split("/")
        match parts:
            case [""]:
                return _json(report(self._sources, name=self._name, started_at=self._started_at))
            case ["failing"]:
                return _json(failing_objects(self._controllers()))
            case ["objects"]:
                return _json({"objects": list(islice(self._objects(), _LISTED_AT_MOST))})
            case ["objects" | "logs" as page, name, *where] if 1 <= len(where) <= 2 and all(where):
                key = ObjectKey(where[0] if len(where) == 2 else "", where[-1])
                return self._object(name, key) if page == "objects" else self._log(name, key)
        return _problem(f"there is no page {below!r} here")

    def _object(self, name: str, key: ObjectKey) -> tuple[int, bytes]:
        for controller in self._controllers():
            if controller.name == name:
                found = inspect(controller, key)
                if found.cached is None and not found.results and found.queue.state == "idle":
                    return _problem(f"controller {name!r} has no record of object {key}")
                return _json(found)
        return self._no_controller(name)

    def _log(self, name: str, key: ObjectKey) -> tuple[int, bytes]:
        if not any(controller.name == name for controller in self._controllers()):
            return self._no_controller(name)
        return _json({"lines": self._logs.of(name, key)})

    def _no_controller(self, name: str) -> tuple[int, bytes]:
        names = ", ".join(controller.name for controller in self._controllers())
        return _problem(f"there is no controller {name!r}; there are: {names or 'none'}")

    def _objects(self) -> Iterator[_Object]:
        for controller in self._controllers():
            now, monotonic = controller.clock.now(), controller.clock.monotonic()
            for key in reversed(controller.history.objects()):
                newest = controller.history.newest(key)
                if newest is None:
                    continue
                yield _Object(
                    controller=controller.name,
                    namespace=key.namespace,
                    name=key.name,
                    result=newest.ending,
                    ended_at=now + timedelta(seconds=newest.ended - monotonic),
                    error=newest.error,
                )


def is_loopback(host: str) -> bool:
    """Whether a server that is bound to this host can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # another name, or none, which means all addresses
        return False


def _json(content: Any) -> tuple[int, bytes]:
    return 200, msgspec.json.encode(content)


def _problem(message: str) -> tuple[int, bytes]:
    return 404, msgspec.json.encode({"error": message})
