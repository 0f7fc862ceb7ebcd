"""The directory where fetched and built things are kept between runs, and how it is changed safely.

Layout: `controlplane/v1.36.3-linux-amd64/` holds the binaries, `go/<version>/` a Go toolchain. Whoever adds something
holds the `lock` of that place, prepares it in a `scratch` folder beside it, and renames it into place. So a reader
never sees a half-written file, and what a killed process left behind is removed by the next one.
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
    """`KUBEWRIGHT_CACHE_DIR`, or `kubewright` in `XDG_CACHE_HOME`, or `~/.cache/kubewright`; not created here."""
    if own := os.environ.get("KUBEWRIGHT_CACHE_DIR"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says that a relative path there is to be ignored.
    base = Path(shared) if os.path.isabs(shared) else Path.home() / ".cache"
    return base / "kubewright"


@contextlib.contextmanager
def lock(folder: Path, waiting: Callable[[], object]) -> Iterator[None]:
    """Hold the lock of that folder, which is created; call `waiting` first when another process has it.

    The lock is the kernel's: it goes away with its holder, however that ends.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder.with_name(folder.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SetupError(
            f"the cache directory {folder} cannot be written ({error.strerror}); "
            "set KUBEWRIGHT_CACHE_DIR to a directory that can"
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
    """A new folder inside `folder`, on the same file system, gone at the end. Call it with the lock held."""
    for leftover in folder.glob(_SCRATCH_PREFIX + "*"):
        shutil.rmtree(leftover, ignore_errors=True)
    path = Path(tempfile.mkdtemp(prefix=_SCRATCH_PREFIX, dir=folder))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
