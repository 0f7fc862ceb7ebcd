"""The volumes in a container: mounted in a mount namespace, mounted by bubblewrap, or linked below a folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from kubewright.cluster.processes._files import OutsideError, inside
from kubewright.supervision import Mounts

__all__ = ["Bind", "MountMode", "bind_of", "bubblewrap_command", "closed_folders", "find_mode", "link_all", "planned"]

MountMode: TypeAlias = Literal["namespace", "bubblewrap", "none"]
"""How volumes appear at their mount paths. `none`: below a folder that `KUBEWRIGHT_POD_ROOT` names."""

_CLOSED: Final = ("/proc", "/sys")


@dataclass(frozen=True)
class Bind:
    """A file or folder of this machine at a path of a container; `inside` is a path below it."""

    source: Path
    inside: tuple[str, ...]
    target: str
    read_only: bool


def find_mode() -> MountMode:
    """Returns the best mode on this machine.

    Root builds the namespace itself: that takes no extra process and no tool. Other users need bubblewrap.
    """
    if sys.platform != "linux":
        return "none"
    if os.geteuid() == 0 and _works(["unshare", "--mount", "true"]):
        return "namespace"
    if shutil.which("bwrap") and _works(["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "true"]):
        return "bubblewrap"
    return "none"


def _works(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def bind_of(source: Path, path: str, target: str, *, read_only: bool) -> Bind:
    """Returns a bind of a volume, or of a path in it. Creates that path if it is missing. Raises OutsideError."""
    parts = tuple(inside(source, path)) if path else ()
    if parts:
        _create(source, parts)
    return Bind(source, parts, target, read_only)


def closed_folders(paths: Sequence[str]) -> list[str]:
    """Returns the outermost folders above these paths that other users may not enter.

    A container of another user gets an empty folder there, which shows the kept paths and nothing else.
    """
    found = set()
    for path in paths:
        parents = reversed(Path(path).parents)
        closed = (str(each) for each in parents if not os.stat(each).st_mode & stat.S_IXOTH)
        found.update([folder] if (folder := next(closed, None)) else [])
    return sorted(found)


def _create(base: Path, parts: Sequence[str]) -> None:
    """Creates missing folders below `base` without following symbolic links."""
    current = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number, part in enumerate(parts):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=current)
            if number == len(parts) - 1 and not stat.S_ISDIR(os.lstat(part, dir_fd=current).st_mode):
                return  # a file
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = below
    finally:
        os.close(current)


def planned(binds: Sequence[Bind], root: Path) -> Mounts:
    """Returns the mounts of a container. Raises OutsideError for a target that cannot be mounted.

    A folder of this machine that gets new entries (`opened`) is replaced by a folder in memory that shows the same
    entries. Nothing is created on the disks of this machine.
    """
    resolved = sorted(((_target(bind.target), bind) for bind in binds), key=lambda pair: pair[0].count("/"))
    volumes = [target for target, bind in resolved if (bind.source.joinpath(*bind.inside)).is_dir()]
    opened: set[str] = set()
    for target, _ in resolved:
        if any(target.startswith(f"{volume}/") for volume in volumes) or os.path.lexists(target):
            continue
        folder = os.path.dirname(target)
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        while folder not in opened:
            opened.add(folder)
            folder = os.path.dirname(folder)
    made: list[dict[str, Any]] = [
        {
            "from": str(bind.source),
            "inside": list(bind.inside),
            "to": target.strip("/").split("/"),
            "read_only": bind.read_only,
        }
        for target, bind in resolved
    ]
    return {"root": str(root), "opened": sorted(opened, key=lambda each: (each.count("/"), len(each))), "binds": made}


def _target(path: str) -> str:
    found = os.path.realpath(path)
    if not path.startswith("/") or ".." in path.split("/") or found == "/":
        raise OutsideError(f"nothing can be mounted at {path!r}")
    if any(found == each or found.startswith(f"{each}/") for each in _CLOSED):
        raise OutsideError(f"nothing can be mounted at {path!r}: it is part of {found.split('/')[1]}")
    return found


def bubblewrap_command(mounts: Mounts, command: Sequence[str], hostname: str | None) -> list[str]:
    """Returns the command of bubblewrap that runs a command with these mounts."""
    made = [shutil.which("bwrap") or "bwrap", "--die-with-parent"]
    if hostname:
        made += ["--unshare-user", "--unshare-uts", "--hostname", hostname]
    opened = mounts["opened"]
    if "/" not in opened:
        made += ["--dev-bind", "/", "/"]
    for folder in opened:
        if folder != "/":
            made += ["--tmpfs", folder]
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.path in opened:
                    continue
                if entry.is_symlink():
                    made += ["--symlink", os.readlink(entry.path), entry.path]
                elif os.access(entry.path, os.R_OK):
                    made += ["--dev-bind-try", entry.path, entry.path]
    for bind in mounts["binds"]:
        source, target = os.path.join(bind["from"], *bind["inside"]), "/" + "/".join(bind["to"])
        made += ["--ro-bind" if bind["read_only"] else "--bind", source, target]
    return [*made, "--chdir", "/", "--", *command]


def link_all(binds: Sequence[Bind], root: Path) -> None:
    """Links the volumes below a folder, for containers without mounts. Raises OutsideError."""
    for bind in sorted(binds, key=lambda each: each.target.count("/")):
        parts = [part for part in bind.target.split("/") if part]
        if not parts or ".." in parts:
            raise OutsideError(f"nothing can be mounted at {bind.target!r}")
        place = root.joinpath(*parts)
        if any((root.joinpath(*parts[:number])).is_symlink() for number in range(1, len(parts))):
            raise OutsideError(f"{bind.target} is in another volume, which needs a mount namespace")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(bind.source.joinpath(*bind.inside))
