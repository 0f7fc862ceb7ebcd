"""The client of the supervisor: starts, signals and stops servers that cannot outlive this process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from kubewright.testing._errors import ControlPlaneError

__all__ = ["Supervisor"]

_MEMORY_DISK = Path("/dev/shm")  # noqa: S108  (the folder in it is created by mkdtemp, private)
_MEMORY_DISK_FREE = 2 << 30


class Supervisor:
    """A supervisor process and its servers. `directory` is removed with them. Thread-safe."""

    def __init__(self) -> None:
        program = Path(__file__).with_name("_supervisor.py")
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            # Isolated and without site packages, for a faster start.
            [sys.executable, "-I", "-S", str(program), str(os.getpid()), str(_parent_directory())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # So that Ctrl-C in a terminal reaches only this process, which then stops the servers in order.
            start_new_session=True,
        )
        try:
            self.directory = Path(self._read()["directory"])
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The process ID of the supervisor."""
        return self._process.pid

    def start(self, name: str, command: list[str], log: Path) -> int:
        """Starts a server, appends its output to `log`, and returns its process ID."""
        return int(self._ask(do="start", name=name, command=command, log=str(log)))

    def signal(self, name: str, number: signal.Signals) -> None:
        """Sends a signal to a server. Does nothing if it has ended."""
        self._ask(do="signal", name=name, signal=int(number))

    def stop(self, name: str, *, grace: float) -> int:
        """Stops a server with SIGTERM, kills it after `grace` seconds (0: immediately), and returns its exit code."""
        return int(self._ask(do="stop", name=name, grace=grace))

    def exit_code(self, name: str) -> int | None:
        """Returns the exit code of a server, negative for a signal; None while it runs."""
        code = self._ask(do="poll", name=name)
        return None if code is None else int(code)

    def close(self) -> None:
        """Kills every server, removes the directory, and waits for both. Does nothing if it is already closed."""
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            # Closing flushes a request that a dead supervisor never read.
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
        # Normally the supervisor did this; it may have been killed.
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory, ignore_errors=True)

    def _ask(self, **request: object) -> Any:
        with self._lock:
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
            except (OSError, ValueError) as error:
                raise ControlPlaneError("the control plane is not running: its supervisor process has ended") from error
            answer = self._read()
        if "error" in answer:
            raise ControlPlaneError(f"cannot {request['do']} {request['name']}: {answer['error']}")
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ControlPlaneError("the control plane is not running: its supervisor process has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _parent_directory() -> Path:
    """Returns a folder in memory if there is enough: the files of etcd need no durability."""
    try:
        if os.access(_MEMORY_DISK, os.W_OK) and shutil.disk_usage(_MEMORY_DISK).free > _MEMORY_DISK_FREE:
            return _MEMORY_DISK
    except OSError:
        pass
    return Path(tempfile.gettempdir())
