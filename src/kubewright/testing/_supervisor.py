"""The supervisor process between a test run and its servers, so that the servers never outlive the run.

It runs as a program with the process ID of its owner. It reads commands as lines of JSON from standard input, and
writes one line of JSON for each to standard output. When its owner ends, for whatever reason (detected by a pidfd and
by the end of standard input), it kills the servers and removes their files. If the supervisor is killed, the kernel
kills the servers (PR_SET_PDEATHSIG).

It imports only modules that load fast, and none of Kubewright.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NoReturn

_PR_SET_PDEATHSIG = 1


class _OwnerGone(Exception):
    """The owner has ended."""


class _Servers:
    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def handle(self, request: dict[str, Any]) -> object:
        match request["do"]:
            case "start":
                return self._start(request["name"], request["command"], request["log"])
            case "signal":
                self._running[request["name"]].send_signal(request["signal"])
                return None
            case "stop":
                return self._stop(self._running[request["name"]], request["grace"])
            case "poll":
                return self._running[request["name"]].poll()
            case unknown:
                raise ValueError(f"unknown request {unknown!r}")

    def _start(self, name: str, command: list[str], log: str) -> int:
        with open(log, "ab") as output:
            server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                # Safe here: this process has one thread, and it is the one that lives as long as the process.
                preexec_fn=self._die_with_supervisor,
            )
        self._running[name] = server
        return server.pid

    def _die_with_supervisor(self) -> None:
        if self._libc is not None:
            self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def _stop(self, server: subprocess.Popen[bytes], grace: float) -> int:
        if grace > 0:
            server.send_signal(signal.SIGTERM)
            server.send_signal(signal.SIGCONT)  # a paused server cannot end by itself
            try:
                return server.wait(grace)
            except subprocess.TimeoutExpired:
                pass
        server.kill()
        return server.wait()

    def clean_up(self) -> None:
        for server in self._running.values():
            server.kill()
        for server in self._running.values():
            server.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def _requests(owner: int) -> Iterator[dict[str, Any]]:
    """The lines on standard input, until it ends. Raises _OwnerGone."""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        if hasattr(os, "pidfd_open"):
            # Standard input ends with its last writer, which may be a forgotten fork of the owner: watch both.
            try:
                selector.register(os.pidfd_open(owner), selectors.EVENT_READ, _OwnerGone)
            except ProcessLookupError:
                raise _OwnerGone from None
        if os.getppid() != owner:
            raise _OwnerGone
        buffered = b""
        while True:
            if any(key.data is _OwnerGone for key, _ in selector.select()):
                raise _OwnerGone
            received = os.read(0, 1 << 16)
            if not received:
                return
            *lines, buffered = (buffered + received).split(b"\n")
            yield from map(json.loads, lines)


def _end(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def main() -> None:
    """Serve until the owner says so or is gone."""
    owner, parent_directory = int(sys.argv[1]), sys.argv[2]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    servers = _Servers(tempfile.mkdtemp(prefix="kubewright-", dir=parent_directory))
    try:
        print(json.dumps({"directory": servers.directory, "pid": os.getpid()}), flush=True)
        for request in _requests(owner):
            try:
                answer = {"result": servers.handle(request)}
            except (OSError, KeyError, ValueError) as error:
                answer = {"error": str(error)}
            print(json.dumps(answer), flush=True)
    except (_OwnerGone, BrokenPipeError):
        pass
    finally:
        servers.clean_up()
        # What is left in the buffer of standard output has no reader; do not complain about it while ending.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()
