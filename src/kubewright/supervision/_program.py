"""The supervisor process: starts programs that never outlive the process that asked for them.

It runs as a program with the process ID of its owner and, optionally, a folder in which it creates a temporary folder.
Standard input is a socket. Requests and answers are lines of JSON; descriptors for a new process arrive with its
request. `{"exited": NAME, "code": N}` reports the end of a process.

When the owner ends, for whatever reason (detected by a pidfd and by the end of the socket), it kills the processes with
all their descendants and removes the folder. Descendants cannot escape: the supervisor is their subreaper. If the
supervisor is killed, the kernel kills the processes that it started (PR_SET_PDEATHSIG).

It imports only modules that load fast, and none of Kubewright.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import stat
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_CLONE_NEWNS, _CLONE_NEWUTS = 0x00020000, 0x04000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_MAX_DESCRIPTORS, _MOST_DESCRIPTORS = 16, 1 << 16
_KILL_SECONDS = 5.0
_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True)


class _OwnerGone(Exception):
    """The owner has ended."""


class _Supervisor:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._running: dict[int, tuple[str, bytes]] = {}
        self._pids: dict[str, int] = {}
        self._wrapped: set[str] = set()
        if _LINUX:
            _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)

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
                return _kill_marked(request["marker"].encode(), _everything)
            case unknown:
                raise ValueError(f"unknown request {unknown!r}")

    def _main(self, name: str) -> int:
        """Returns the process that signals are for: below a wrapper, which does not pass them on."""
        pid = self._pids[name]
        return next(iter(_children(pid)), pid) if name in self._wrapped else pid

    def _start(self, request: dict[str, Any], descriptors: list[int]) -> int:
        joined = self._pids[request["join"]] if request.get("join") else None
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            _exec(request, descriptors, write, joined)
        os.close(write)
        with open(read, "rb") as pipe:
            failure = pipe.read()
        if failure:
            os.waitpid(pid, 0)
            number, _, place = failure.decode().partition(" ")
            raise OSError(int(number), os.strerror(int(number)), place)
        self._pids[request["name"]] = pid
        self._running[pid] = (request["name"], request.get("marker", "").encode())
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
                _kill_marked(known[1], self._orphans)
            status = os.waitpid(pid, 0)[1] if status is None else status
            if known is not None:
                del self._pids[known[0]]
                self._wrapped.discard(known[0])
                self.send({"exited": known[0], "code": os.waitstatus_to_exitcode(status)})

    def _orphans(self) -> list[int]:
        """Returns processes whose parents have ended, with their descendants: this process is their parent now."""
        found = [pid for pid in _children(os.getpid()) if pid not in self._running]
        for pid in found:  # grows
            found += _children(pid)
        return found

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


def _kill_marked(marker: bytes, candidates: Callable[[], list[int]]) -> int:
    """Kills processes with this variable in their environment, also those that left their process group."""
    killed, again = 0, bool(marker)
    while again:
        again = False
        for pid in candidates():
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/environ", "rb") as file:
                    is_marked = marker in file.read().split(b"\0")
                if is_marked and pid != os.getpid():  # a process that has ended has no environment
                    os.kill(pid, signal.SIGKILL)
                    killed, again = killed + 1, True
    return killed


# In the new process


def _exec(request: dict[str, Any], descriptors: list[int], errors: int, joined: int | None) -> NoReturn:
    place = "starting"
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        if request.get("terminal"):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        place = "namespaces"
        if joined is not None:
            _join(joined)
        else:
            _isolate(request.get("mounts"), request.get("hostname"))
        place = "user"
        _become(request)
        if _LINUX:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        place = "workingDir"
        os.chdir(request.get("directory") or "/")
        place = request["command"][0]
        environment = request.get("environment")
        os.set_inheritable(errors, False)
        os.closerange(3, errors)
        os.closerange(errors + 1, _MOST_DESCRIPTORS)
        os.execvpe(place, request["command"], os.environ if environment is None else environment)  # noqa: S606
    except OSError as error:
        os.write(errors, f"{error.errno or 5} {place}".encode())
    except BaseException as error:
        os.write(errors, f"5 {place}: {type(error).__name__}".encode())
    os._exit(127)


def _become(request: dict[str, Any]) -> None:
    if _LINUX and request.get("no_new_privileges"):
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    user, group, groups = request.get("user"), request.get("group"), request.get("groups")
    if user is None and group is None and not groups:
        return
    os.setgroups(groups or [])
    if group is not None:
        os.setgid(group)
    if user is not None:
        os.setuid(user)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _mount(source: str, target: str, kind: str, flags: int) -> None:
    _check(_LIBC.mount(source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), None))


def _join(pid: int) -> None:
    """Enters the namespaces and the root of a process."""
    root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY)
    for space in [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in ("uts", "mnt")]:
        _check(_LIBC.setns(space, 0))
    os.fchdir(root)
    os.chroot(".")


def _isolate(mounts: dict[str, Any] | None, hostname: str | None) -> None:
    flags = (_CLONE_NEWNS if mounts else 0) | (_CLONE_NEWUTS if hostname else 0)
    if not flags:
        return
    _check(_LIBC.unshare(flags))
    if hostname:
        socket.sethostname(hostname)
    if mounts:
        _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
        _build_root(mounts["root"], mounts["opened"], mounts["binds"])


def _build_root(root: str, opened: list[str], binds: list[dict[str, Any]]) -> None:
    """Makes `root` the root: a view of this machine's, whose opened folders can have new entries, with the binds."""
    os.umask(0o022)
    if "/" in opened:
        _mount("tmpfs", root, "tmpfs", 0)
    else:
        _mount("/", root, "", _MS_BIND | _MS_REC)
    for folder in opened:
        place = os.path.normpath(f"{root}/{folder}")
        os.makedirs(place, exist_ok=True)
        if folder != "/":
            _mount("tmpfs", place, "tmpfs", 0)
        os.chmod(place, stat.S_IMODE(os.stat(folder).st_mode))
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.path not in opened:
                    with contextlib.suppress(OSError):  # an entry that has just been removed, or cannot be bound
                        _show(entry, f"{place}/{entry.name}")
    for bind in binds:
        source = _open_inside(bind["from"], bind["inside"], create=None)
        kind = "dir" if stat.S_ISDIR(os.fstat(source).st_mode) else "file"
        target = _open_inside(root, bind["to"], create=kind)
        _mount(f"/proc/self/fd/{source}", f"/proc/self/fd/{target}", "", _MS_BIND | _MS_REC)
        os.close(source)
        os.close(target)
    for bind in binds:
        if bind["read_only"]:
            target = _open_inside(root, bind["to"], create=None)
            _mount("none", f"/proc/self/fd/{target}", "", _MS_BIND | _MS_REMOUNT | _MS_RDONLY)
            os.close(target)
    os.chroot(root)
    os.chdir("/")


def _show(entry: os.DirEntry[str], place: str) -> None:
    if entry.is_symlink():
        os.symlink(os.readlink(entry.path), place)
        return
    if entry.is_dir():
        os.mkdir(place)
    else:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o600))
    _mount(entry.path, place, "", _MS_BIND | _MS_REC)


def _open_inside(base: str, parts: list[str], *, create: str | None) -> int:
    """Opens a path below `base` without following symbolic links."""
    current = os.open(base, os.O_PATH | (os.O_DIRECTORY if parts else 0))
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if create is not None:
            with contextlib.suppress(FileExistsError):
                if last and create == "file":
                    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=current))
                else:
                    os.mkdir(part, dir_fd=current)
        flags = os.O_PATH | os.O_NOFOLLOW | (0 if last else os.O_DIRECTORY)
        below = os.open(part, flags, dir_fd=current)
        os.close(current)
        current = below
        if stat.S_ISLNK(os.fstat(current).st_mode):
            raise OSError(40, "a symbolic link")  # ELOOP
    return current


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
