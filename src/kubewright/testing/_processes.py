"""The client of the supervisor: starts, signals and stops servers that cannot outlive this process."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from kubewright.supervision import launch
from kubewright.testing._errors import ControlPlaneError

__all__ = ["Supervisor"]

_MEMORY_DISK = Path("/dev/shm")  # noqa: S108  (the folder in it is created by mkdtemp, private)
_MEMORY_DISK_FREE = 2 << 30
_GONE: Final = "the control plane is not running: its supervisor process has ended"
_NOTHING: Final[dict[str, Any]] = {}


class _Ended(Exception):
    """The server has ended."""


class Supervisor:
    """A supervisor process and its servers. `directory` is removed with them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buffered = b""
        self._requests = itertools.count(1)
        self._exit_codes: dict[str, int] = {}
        self._running: dict[str, str] = {}
        self._process, self._socket = launch(_parent_directory())
        try:
            self.directory = Path(self._receive(None)["directory"])
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The process ID of the supervisor."""
        return self._process.pid

    def start(self, name: str, command: list[str], log: Path) -> int:
        """Starts a server, appends its output to `log`, and returns its process ID."""
        with self._lock, open(os.devnull, "rb") as nothing, open(log, "ab") as output:
            unique = f"{name}/{next(self._requests)}"
            streams = [nothing.fileno(), output.fileno(), output.fileno()]
            request = {"name": unique, "command": command, "directory": str(self.directory), "descriptors": 3}
            pid = int(self._ask(name, streams, do="start", **request))
            self._running[name] = unique
            return pid

    def signal(self, name: str, number: signal.Signals) -> None:
        """Sends a signal to a server. Does nothing if it has ended."""
        with self._lock:
            self._signal(name, int(number))

    def stop(self, name: str, *, grace: float) -> int:
        """Stops a server with SIGTERM, kills it after `grace` seconds (0: immediately), and returns its exit code."""
        with self._lock:
            if grace > 0:
                self._signal(name, signal.SIGTERM)
                self._signal(name, signal.SIGCONT)  # a paused server cannot end by itself
                deadline = time.monotonic() + grace
                while self._code(name) is None and time.monotonic() < deadline:
                    self._receive(max(deadline - time.monotonic(), 0))
            self._signal(name, signal.SIGKILL)
            while (code := self._code(name)) is None:
                self._receive(None)
            return code

    def exit_code(self, name: str) -> int | None:
        """Returns the exit code of a server, negative for a signal; None while it runs."""
        with self._lock:
            while self._code(name) is None and self._receive(0) is not _NOTHING:
                pass
            return self._code(name)

    def close(self) -> None:
        """Kills every server, removes the directory, and waits for both. Does nothing if it is already closed."""
        with self._lock:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            self._process.wait()
        # Normally the supervisor did this; it may have been killed.
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory, ignore_errors=True)

    def _code(self, name: str) -> int | None:
        return self._exit_codes.get(self._running[name])

    def _signal(self, name: str, number: int) -> None:
        if self._code(name) is None:
            with contextlib.suppress(_Ended):
                self._ask(name, do="signal", signal=number)

    def _ask(self, server: str, given: Sequence[int] = (), **request: object) -> Any:
        number = next(self._requests)
        request = {"id": number, "name": self._running.get(server), **request}
        data = json.dumps(request).encode() + b"\n"
        try:
            sent = socket.send_fds(self._socket, [data], [*given]) if given else 0
            self._socket.sendall(data[sent:])
        except OSError as error:
            raise ControlPlaneError(_GONE) from error
        while (answer := self._receive(None)).get("id") != number:
            pass
        if "error" not in answer:
            return answer["result"]
        if request["name"] in self._exit_codes:
            raise _Ended
        raise ControlPlaneError(f"cannot {request['do']} {server}: {answer['error']}")

    def _receive(self, seconds: float | None) -> dict[str, Any]:
        """Returns the next message within that time, or `_NOTHING`. Records reports of ends."""
        while b"\n" not in self._buffered:
            try:
                self._socket.settimeout(seconds)
                received = self._socket.recv(1 << 16)
            except (TimeoutError, BlockingIOError):
                return _NOTHING
            except OSError:
                received = b""
            finally:
                with contextlib.suppress(OSError):
                    self._socket.settimeout(None)
            if not received:
                raise ControlPlaneError(_GONE)
            self._buffered += received
        line, _, self._buffered = self._buffered.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "exited" in message:
            self._exit_codes[message["exited"]] = message["code"]
        return message


def _parent_directory() -> Path:
    """Returns a folder in memory if there is enough: the files of etcd need no durability."""
    try:
        if os.access(_MEMORY_DISK, os.W_OK) and shutil.disk_usage(_MEMORY_DISK).free > _MEMORY_DISK_FREE:
            return _MEMORY_DISK
    except OSError:
        pass
    return Path(tempfile.gettempdir())
