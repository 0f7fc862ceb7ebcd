"""The cache directory of downloaded and built files, and how to change it safely.

Layout: `controlplane/v1.36.3-linux-amd64/` has the binaries, `go/<version>/` a Go toolchain. A process that adds files
holds the `lock` of the folder, prepares them in a `scratch` folder inside it, and renames them into place. So a reader
never sees an incomplete file, and the next process removes what a killed one left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from kubewright.testing._errors import SetupError

__all__ = ["cache_directory", "lock", "scratch"]

_SCRATCH_PREFIX = ".partial-"


def cache_directory() -> Path:
    """Returns `KUBEWRIGHT_CACHE_DIR`, or `kubewright` in `XDG_CACHE_HOME`, or `~/.cache/kubewright`."""
    if own := os.environ.get("KUBEWRIGHT_CACHE_DIR"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification requires to ignore a relative path.
    base = Path(shared) if os.path.isabs(shared) else Path.home() / ".cache"
    return base / "kubewright"


@contextlib.contextmanager
def lock(folder: Path, waiting: Callable[[], object]) -> Iterator[None]:
    """Holds the lock of a folder, which is created. Calls `waiting` first if another process has the lock.

    It is a kernel lock: it is released when its holder ends, for whatever reason.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder.with_name(folder.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SetupError(
            f"the cache directory {folder} cannot be written ({error.strerror}); "
            "set KUBEWRIGHT_CACHE_DIR to a writable directory"
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """Creates a folder inside `folder`, on the same file system, and removes it at the end. Requires the lock."""
    for leftover in folder.glob(_SCRATCH_PREFIX + "*"):
        shutil.rmtree(leftover, ignore_errors=True)
    path = Path(tempfile.mkdtemp(prefix=_SCRATCH_PREFIX, dir=folder))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
