"""Files of volumes: replaced together, as a kubelet does it, and paths that do not leave their folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

__all__ = ["File", "OutsideError", "create_shared", "inside", "read_bounded", "replace_all"]

_DATA: Final = "..data"


class OutsideError(Exception):
    """A path that leaves its folder."""


class File(NamedTuple):
    """The content and the mode of a file."""

    content: bytes
    mode: int


def replace_all(folder: Path, files: Mapping[str, File], *, group: int | None = None) -> bool:
    """Makes the folder contain exactly these files. Readers see either all old or all new ones.

    Files are symbolic links through `..data`, which is replaced atomically. Returns False if nothing changed.
    Raises OutsideError for a path that is absolute or contains `..`.
    """
    for path in files:
        _check(path)
    if _same(folder, files):
        return False
    made = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    made.chmod(0o755)
    for path, file in files.items():
        target = made / path
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(file.content)
            if group is not None:
                os.fchown(stream.fileno(), -1, group)
            os.fchmod(stream.fileno(), file.mode | (0o040 if group is not None else 0))
    before = folder / _DATA
    old = os.readlink(before) if before.is_symlink() else None
    link = folder / "..data_tmp"
    link.unlink(missing_ok=True)
    link.symlink_to(made.name)
    link.replace(before)
    wanted = {PurePosixPath(path).parts[0] for path in files}
    for name in wanted:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"{_DATA}/{name}")
    for entry in folder.iterdir():
        if not entry.name.startswith("..") and entry.name not in wanted:
            entry.unlink()
    if old is not None:
        shutil.rmtree(folder / old, ignore_errors=True)
    return True


def inside(folder: Path, path: str) -> list[str]:
    """Returns the parts of a path below a folder, with symbolic links resolved. Raises OutsideError.

    The path need not exist.
    """
    _check(path)
    base = os.path.realpath(folder)
    found = os.path.realpath(os.path.join(base, path))
    if found != base and not found.startswith(f"{base}{os.sep}"):
        raise OutsideError(f"the path {path!r} leaves the volume through a symbolic link")
    return [part for part in os.path.relpath(found, base).split(os.sep) if part != "."]


def create_shared(path: Path) -> None:
    """Replaces a file or symbolic link with a new, empty file that every user may write."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.fchmod(descriptor, 0o666)
    finally:
        os.close(descriptor)


def read_bounded(path: Path, most: int) -> bytes:
    """Returns the beginning of a regular file; nothing if there is none. Does not follow symbolic links."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            # A device or a pipe could block, or have no end.
            return os.read(descriptor, most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        finally:
            os.close(descriptor)
    return b""


def _check(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise OutsideError(f"the path {path!r} is not a relative path without '..'")


def _same(folder: Path, files: Mapping[str, File]) -> bool:
    data = folder / _DATA
    if not data.is_symlink():
        return False
    have = {str(path.relative_to(data)): path for path in data.rglob("*") if path.is_file()}
    return set(have) == {str(PurePosixPath(path)) for path in files} and all(
        have[str(PurePosixPath(path))].read_bytes() == file.content for path, file in files.items()
    )
