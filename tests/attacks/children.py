"""Starts children that `tests/attacks/nursery.py` forks, and talks to them."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["COPIES", "CPU_SECONDS", "Child", "fork"]

COPIES: Final = int(os.environ.get("KUBEWRIGHT_ATTACKS", "1"))
"""How many times each attack runs at the same time."""
CPU_SECONDS: Final = 40 if COPIES == 1 else 1200
ADDRESS_SPACE: Final = 4096 * 2**20
ROOT: Final = Path(__file__).parents[2]


class Child:
    """A forked process, with the interface of `asyncio.subprocess.Process` that is needed here."""

    def __init__(
        self,
        pid: int,
        status: asyncio.StreamReader,
        connection: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        stdin: asyncio.StreamWriter,
    ) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self.returncode: int | None = None
        self._connection = connection
        self._ended = asyncio.create_task(self._follow(status))

    async def _follow(self, status: asyncio.StreamReader) -> None:
        line = await status.readline()
        assert line, "the nursery ended: standard error has the reason"
        self.returncode = int(line)
        self._connection.close()

    async def wait(self) -> None:
        """Waits for its end."""
        await asyncio.shield(self._ended)

    async def end(self) -> None:
        """Lets the nursery kill it if it runs, and waits for its end."""
        if self.returncode is None:
            self._connection.write_eof()
        await self.wait()
        self.stdin.close()


class _Nursery:
    """The process that forks all attacked processes of this test run. See `tests/attacks/nursery.py`."""

    def __init__(self) -> None:
        environment = {
            **os.environ,
            "MALLOC_ARENA_MAX": "2",  # each arena reserves address space, which is limited
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        }
        self._folder = tempfile.TemporaryDirectory(prefix="nursery-")
        self._socket = Path(self._folder.name) / "socket"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.attacks.nursery", self._socket],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=ROOT,
        )  # fmt: skip
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n", "the nursery ended: standard error has the reason"
        atexit.register(self._stop)

    def _stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()

    async def fork(self, kind: str, arguments: tuple[str, ...], errors: int) -> Child:
        """See `fork`."""
        near, far = socket.socketpair()
        connection = socket.socket(socket.AF_UNIX)
        with far:
            connection.connect(str(self._socket))
            message = json.dumps([kind, ADDRESS_SPACE, CPU_SECONDS, *arguments]).encode()
            socket.send_fds(connection, [message], [far.fileno(), errors])
        status, writer = await asyncio.open_unix_connection(sock=connection)
        talk = await asyncio.open_unix_connection(sock=near)
        return Child(int(await status.readline()), status, writer, *talk)


@cache
def _nursery() -> _Nursery:
    return _Nursery()


async def fork(kind: str, *arguments: str, errors: int) -> Child:
    """Forks a child of a kind that `tests/attacks/victim.py` knows. It writes standard error to a file descriptor."""
    return await _nursery().fork(kind, arguments, errors)
