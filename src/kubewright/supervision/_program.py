"""The supervisor process: starts programs that never outlive the process that asked for them.

It runs as a program with the process ID of its owner and, optionally, a folder in which it creates a temporary folder.
Standard input is a socket. Requests and answers are lines of JSON; descriptors for a new process arrive with its
request. `{"exited": NAME, "code": N}` reports the end of a process.

When the owner ends, for whatever reason (detected by a pidfd and by the end of the socket), it kills the processes with
all their descendants and removes the folder. Descendants cannot escape: the supervisor is their subreaper. When one
process ends, its descendants are found by a resource limit and by a variable of their environment. If the
supervisor is killed, the kernel kills the processes that it started (PR_SET_PDEATHSIG).

It imports only modules that load fast, and none of Kubewright.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from kubewright.supervision._child import become_subreaper, run_program
else:  # an isolated program does not find the modules beside it
    sys.path.insert(0, os.path.dirname(__file__))
    from _child import become_subreaper, run_program

    del sys.path[0]

_MAX_DESCRIPTORS = 16
_KILL_SECONDS = 5.0
_FAMILY = b"Max file locks"  # the limit that `run_program` sets
_LINUX = sys.platform == "linux"


class _OwnerGone(Exception):
    """The owner has ended."""


class _Started(NamedTuple):
    """A process: its name, and the marks of the processes that are killed at its end."""

    name: str
    marker: bytes
    family: int


class _Supervisor:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._running: dict[int, _Started] = {}
        self._pids: dict[str, int] = {}
        self._wrapped: set[str] = set()
        become_subreaper()

    def handle(self, request: dict[str, Any], descriptors: list[int]) -> object:
        match request["do"]:
            case "start":
                return self._start(request, descriptors)
            case "signal":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._main(request["name"]), request["signal"])
                return None
            case "kill":
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._pids[request["name"]], signal.SIGKILL)
                return None
            case "kill marked":
                first, last = request["families"]
                return _kill_marked(request["marker"].encode(), range(first, last + 1), _everything)
            case unknown:
                raise ValueError(f"unknown request {unknown!r}")

    def _main(self, name: str) -> int:
        """Returns the process that gets signals: the child of a wrapper, because a wrapper does not pass them on."""
        pid = self._pids[name]
        return next(iter(_children(pid)), pid) if name in self._wrapped else pid

    def _start(self, request: dict[str, Any], descriptors: list[int]) -> int:
        joined = self._pids[request["join"]] if request.get("join") else None
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            run_program(request, descriptors, write, joined)
        os.close(write)
        with open(read, "rb") as pipe:
            failure = pipe.read()
        if failure:
            os.waitpid(pid, 0)
            number, _, place = failure.decode().partition(" ")
            raise OSError(int(number), os.strerror(int(number)), place)
        self._pids[request["name"]] = pid
        self._running[pid] = _Started(request["name"], request.get("marker", "").encode(), request.get("family", 0))
        if request.get("wrapper"):
            self._wrapped.add(request["name"])
        return pid

    def reap(self) -> None:
        """Reports processes that have ended, after killing everything that they left behind."""
        while (ended := _next_ended()) is not None:
            pid, status = ended
            known = self._running.pop(pid, None)
            if known is not None:  # before its number can be used again
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
                if known.marker:
                    self._kill_left_by(known)
            status = os.waitpid(pid, 0)[1] if status is None else status
            if known is not None:
                del self._pids[known.name]
                self._wrapped.discard(known.name)
                self.send({"exited": known.name, "code": os.waitstatus_to_exitcode(status)})

    def _kill_left_by(self, ended: _Started) -> None:
        """Kills the descendants of a process that has ended, and the other processes of its family."""
        running, family = self._running, ended.family

        def candidates() -> list[int]:  # orphans are children of this process
            found = [pid for pid in _children(os.getpid()) if pid not in running or running[pid].family == family != 0]
            for pid in found:  # grows
                found += _children(pid)
            return found

        _kill_marked(ended.marker, range(family, family + bool(family)), candidates)

    def send(self, message: dict[str, object]) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def kill_all(self) -> None:
        """Kills all descendants. Children of a killed process become children of this one, so it repeats that."""
        for pid in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        deadline = time.monotonic() + _KILL_SECONDS
        while time.monotonic() < deadline:
            for pid in _children(os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return


def _next_ended() -> tuple[int, int | None] | None:
    """Returns a process that has ended; with its status if that is collected: without `waitid`, as on older macOS."""
    with contextlib.suppress(ChildProcessError):
        if not hasattr(os, "waitid"):
            pid, status = os.waitpid(-1, os.WNOHANG)
            return (pid, status) if pid else None
        if (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            return found.si_pid, None
    return None


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]
    return []


def _everything() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()] if _LINUX else []


def _kill_marked(marker: bytes, families: range, candidates: Callable[[], list[int]]) -> int:
    """Kills processes with this variable in their environment, or of these families. Repeats it for new ones."""
    killed: set[int] = set()
    again = True
    while again:
        again = False
        for pid in candidates():
            if pid in killed or pid == os.getpid() or not _is_marked(pid, marker, families):
                continue
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
                again = True
    return len(killed)


def _is_marked(pid: int, marker: bytes, families: range) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        if marker in file.read().split(b"\0"):  # a process that has ended has no environment
            return True
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/limits", "rb") as file:
        [limit] = [line for line in file if line.startswith(_FAMILY)]
        return int(limit.split()[3]) in families and not _has_ended(pid)
    return False


def _has_ended(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] in b"ZX"


# The loop


def _requests(connection: socket.socket, owner: int, supervisor: _Supervisor) -> Iterator[tuple[dict[str, Any], int]]:
    """Yields requests with the number of their descriptors, until the socket ends. Raises _OwnerGone."""
    wakes, wake = os.pipe()
    for end in (wakes, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        selector.register(wakes, selectors.EVENT_READ)
        if hasattr(os, "pidfd_open"):
            # The socket ends with its last writer, which may be a forgotten fork of the owner: watch both.
            with contextlib.suppress(ProcessLookupError):  # it has ended, which is checked below
                selector.register(os.pidfd_open(owner), selectors.EVENT_READ, _OwnerGone)
        if os.getppid() != owner:
            raise _OwnerGone
        buffered = b""
        while True:
            ready = {key.fileobj if key.data is None else key.data for key, _ in selector.select()}
            if _OwnerGone in ready:
                raise _OwnerGone
            if wakes in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(wakes, 4096)
                supervisor.reap()
            if connection not in ready:
                continue
            received, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, _MAX_DESCRIPTORS)
            if not received:
                return
            _DESCRIPTORS.extend(descriptors)
            *lines, buffered = (buffered + received).split(b"\n")
            for line in lines:
                request = json.loads(line)
                yield request, int(request.get("descriptors", 0))


_DESCRIPTORS: list[int] = []


def _end(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def main() -> None:
    """Serves until the owner closes the socket or is gone."""
    owner = int(sys.argv[1])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    connection = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    supervisor = _Supervisor(connection)
    directory = tempfile.mkdtemp(prefix="kubewright-", dir=sys.argv[2])
    try:
        supervisor.send({"directory": directory, "pid": os.getpid()})
        for request, count in _requests(connection, owner, supervisor):
            given = [_DESCRIPTORS.pop(0) for _ in range(count)]
            answer: dict[str, object] = {"id": request.get("id")}
            try:
                answer["result"] = supervisor.handle(request, given)
            except (OSError, KeyError, ValueError) as error:
                answer["error"] = str(error)
                answer["number"] = getattr(error, "errno", None)
            finally:
                for descriptor in given:
                    os.close(descriptor)
            supervisor.send(answer)
    except (_OwnerGone, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        supervisor.kill_all()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
