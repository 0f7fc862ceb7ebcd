"""The first steps of a process that the supervisor has forked: its session, namespaces, mounts and user.

It is imported by `_program`, and imports only modules that load fast, and none of Kubewright.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import signal
import socket
import stat
import sys
import termios
from typing import Any, Final, NoReturn

__all__ = ["become_subreaper", "run_program"]

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_CLONE_NEWNS, _CLONE_NEWUTS = 0x00020000, 0x04000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_MOST_DESCRIPTORS = 1 << 16
_RLIMIT_LOCKS: Final = 10
_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Makes this process the parent of descendants whose parents have ended. Does nothing without Linux."""
    if _LINUX:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def run_program(request: dict[str, Any], descriptors: list[int], errors: int, joined: int | None) -> NoReturn:
    """Replaces this new process by the requested program. Writes an error to the descriptor `errors`, and ends."""
    place = "starting"
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        if request.get("terminal"):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        _join_family(request.get("family", 0))
        place = "namespaces"
        if joined is not None:
            _join(joined)
        else:
            _isolate(request.get("mounts"), request.get("hostname"))
        place = "user"
        _set_credentials(request)
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


def _join_family(number: int) -> None:
    """Marks this process and all its descendants, also those that change their session and their environment.

    Resource limits are inherited. The limit of file locks has had no effect since Linux 2.4, so no program changes it.
    """
    if _LINUX and number:
        with contextlib.suppress(ValueError, OSError):  # it is lower already, and may not be raised
            resource.setrlimit(_RLIMIT_LOCKS, (number, number))


def _set_credentials(request: dict[str, Any]) -> None:
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
    """Makes `root` the root: a view of this machine's, with the binds. Folders in `opened` can have new entries."""
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
