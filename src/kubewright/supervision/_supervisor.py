"""`Supervisor`: starts, signals and kills processes through a supervisor process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypedDict

from kubewright.supervision._launch import launch

__all__ = ["Mounts", "Supervised", "Supervisor", "SupervisorGone"]

_KILLED: Final = 128 + signal.SIGKILL
_MAX_LINE: Final = 1 << 20


class SupervisorGone(ConnectionError):
    """The supervisor process has ended. The processes that it started have ended as well."""


class Mounts(TypedDict):
    """The root of a process: a view of this machine's, with binds. Folders in `opened` can have new entries."""

    root: str
    opened: list[str]
    binds: list[dict[str, Any]]


class Supervised:
    """A process of a supervisor. It leads its own session and process group."""

    def __init__(self, supervisor: Supervisor, name: str, pid: int) -> None:
        self._supervisor = supervisor
        self.name = name
        self.pid = pid
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def exit_code(self) -> int | None:
        """The exit code, 128 and the number of the signal if it was killed; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        """Returns the exit code. Everything that the process left in its group has been killed then."""
        return await asyncio.shield(self._ended)

    def signal(self, number: int) -> None:
        """Sends a signal to the process. Does nothing if it has ended."""
        if not self._ended.done():
            self._supervisor.send({"do": "signal", "name": self.name, "signal": int(number)})

    def kill(self) -> None:
        """Kills the process group. Does nothing if the process has ended."""
        if not self._ended.done():
            self._supervisor.send({"do": "kill", "name": self.name})

    def end(self, code: int) -> None:
        """Records the end of the process."""
        if not self._ended.done():
            self._ended.set_result(code if code >= 0 else 128 - code)


class Supervisor:
    """A supervisor process and its processes, from `start` to `close`.

    `directory` is a private folder that is removed at the end, also if this process is killed.
    """

    directory: Path

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent or Path(tempfile.gettempdir())
        self._names = itertools.count(1)
        self._running: dict[str, Supervised] = {}
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._writing = asyncio.Lock()
        self._pending: set[asyncio.Task[Any]] = set()
        self._gone = False

    async def start(self) -> Self:
        """Starts the supervisor process."""
        self._process, self._socket = launch(self._parent)
        self._socket.setblocking(False)
        self._reader, self._writer = await asyncio.open_connection(sock=self._socket.dup(), limit=_MAX_LINE)
        hello = json.loads(await self._reader.readline())
        self.directory = Path(hello["directory"])
        self._reading = asyncio.get_running_loop().create_task(self._read())
        return self

    async def close(self) -> None:
        """Kills all processes and their descendants, removes the folder, and waits for both."""
        for task in self._pending:
            task.cancel()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        await self._reading
        self._writer.close()
        await asyncio.to_thread(self._process.wait)
        # Normally the supervisor did this; it may have been killed.
        await asyncio.to_thread(shutil.rmtree, self.directory, ignore_errors=True)

    @property
    def pid(self) -> int:
        """The process ID of the supervisor."""
        return self._process.pid

    @property
    def gone(self) -> bool:
        """Whether the supervisor process has ended."""
        return self._gone

    async def spawn(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: str | None = None,
        descriptors: Sequence[int],
        terminal: bool = False,
        marker: str = "",
        family: int = 0,
        mounts: Mounts | None = None,
        hostname: str | None = None,
        join: Supervised | None = None,
        user: int | None = None,
        group: int | None = None,
        groups: Sequence[int] = (),
        no_new_privileges: bool = False,
        wrapper: bool = False,
    ) -> Supervised:
        """Starts a program with exactly this environment.

        Args:
            descriptors: standard input, output and error.
            terminal: makes standard input the controlling terminal.
            marker: a variable of the environment, `NAME=value`. At the end, processes that have it are killed.
            family: a number that its descendants keep, also in another session and with another environment (Linux). At
                the end of a process with a marker, its family is killed, too. 0: none.
            mounts: the root of the process, in a mount namespace.
            hostname: the name of the host, in a namespace.
            join: a process whose namespaces and root it enters.
            user, group, groups: run as this user.
            no_new_privileges: the program cannot gain rights, for example by a set-user-ID bit.
            wrapper: sends signals to the first child of the process.

        Raises OSError if the program cannot be started; its `filename` is the step that failed.
        """
        name = str(next(self._names))
        request = {
            "do": "start",
            "name": name,
            "command": list(command),
            "environment": dict(environment),
            "directory": directory,
            "descriptors": len(descriptors),
            "terminal": terminal,
            "marker": marker,
            "family": family,
            "mounts": mounts,
            "hostname": hostname,
            "join": None if join is None else join.name,
            "user": user,
            "group": group,
            "groups": list(groups),
            "no_new_privileges": no_new_privileges,
            "wrapper": wrapper,
        }
        # Registered first: the report of its end may arrive together with the answer.
        made = self._running[name] = Supervised(self, name, 0)
        try:
            made.pid = await self._ask(request, descriptors)
        except BaseException as error:
            self._running.pop(name, None)
            if isinstance(error, asyncio.CancelledError) and not self._gone:
                self.send({"do": "kill", "name": name})  # it may have started: requests are handled in order
            raise
        return made

    async def kill_marked(self, marker: str, families: range = range(0)) -> int:
        """Kills all processes of this user with this variable, `NAME=value`, or of these families."""
        bounds = [families.start, families.stop - 1]
        return int(await self._ask({"do": "kill marked", "marker": marker, "families": bounds}))

    def send(self, request: dict[str, Any]) -> None:
        """Sends a request without waiting for the answer."""
        task = asyncio.get_running_loop().create_task(self._ask(request))
        self._pending.add(task)
        task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[Any]) -> None:
        self._pending.discard(task)
        if not task.cancelled():
            task.exception()  # the process has ended in between

    async def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
        if self._gone:
            raise SupervisorGone("the supervisor process has ended")
        number = next(self._names)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        data = json.dumps({"id": number, **request}).encode() + b"\n"
        try:
            async with self._writing:
                await self._send(data, descriptors)
            return await answer
        except (BrokenPipeError, ConnectionResetError) as error:
            raise SupervisorGone("the supervisor process has ended") from error
        finally:
            self._answers.pop(number, None)

    async def _send(self, data: bytes, descriptors: Sequence[int]) -> None:
        loop = asyncio.get_running_loop()
        sent = 0
        while descriptors and sent == 0:
            try:
                sent = socket.send_fds(self._socket, [data], [*descriptors])
            except BlockingIOError:
                ready = asyncio.Event()
                loop.add_writer(self._socket, ready.set)
                try:
                    await ready.wait()
                finally:
                    loop.remove_writer(self._socket)
        await loop.sock_sendall(self._socket, data[sent:])

    async def _read(self) -> None:
        try:
            while line := await self._reader.readline():
                self._handle(json.loads(line))
        except (ConnectionError, OSError):
            pass
        finally:
            self._gone = True
            for process in [*self._running.values()]:
                process.end(_KILLED)
            self._running.clear()
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(SupervisorGone("the supervisor process has ended"))

    def _handle(self, message: dict[str, Any]) -> None:
        if "exited" in message:
            process = self._running.pop(message["exited"], None)
            if process is not None:
                process.end(message["code"])
            return
        answer = self._answers.get(message["id"])
        if answer is None or answer.done():
            return
        if "error" not in message:
            answer.set_result(message["result"])
        elif message.get("number"):
            number = message["number"]
            answer.set_exception(OSError(number, os.strerror(number), message["error"].rpartition(": ")[2].strip("'")))
        else:
            answer.set_exception(OSError(message["error"]))
