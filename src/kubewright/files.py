"""Files, as a set: written together, or none of them.

Whatever needs room fails while nothing is to be seen of it yet: new texts are staged beside their places, and what is
there gets a second name. To put either in place takes no room, so that it can be undone on a full disk, too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

__all__ = ["NotWritten", "remove_own", "write_all"]


class NotWritten(OSError):
    """Files could not be written, and all is as it was. The text names the file or folder, and why."""

    def __init__(self, what: str, error: OSError) -> None:
        super().__init__(error.errno, error.strerror, error.filename)
        self._text = f"nothing was written: {what}: {error.strerror or error}"

    def __str__(self) -> str:
        return self._text


def remove_own(path: Path, written: bytes) -> None:
    """Remove a file if it still has the content that was written to it, or none. A file of another program stays."""
    with contextlib.suppress(OSError):
        if path.read_bytes() in (written, b""):
            path.unlink()


def write_all(folder: Path, texts: Mapping[str, str | None]) -> None:
    """Let the files below a folder have these texts, and those with None be gone: all of it, or nothing.

    Folders are made where they are missing, and go when they become empty. A file keeps its mode; of a link, the file
    behind it is written. Raises `NotWritten` when it cannot be done, and then the folder is as it was.
    """
    places = {_place(folder / path): text for path, text in texts.items() if text is not None}
    gone = [folder / path for path, text in texts.items() if text is None and os.path.lexists(folder / path)]
    names = (f".kubewright-{os.getpid()}-{number}" for number in count())
    with contextlib.ExitStack() as undo:
        staged = {target: _stage(target, text, next(names), undo) for target, text in places.items()}
        kept = [_keep(target, next(names), undo) for target in (*places, *gone)]
        for target, temporary in staged.items():
            with _telling(f"{target} cannot be replaced"):
                os.replace(temporary, target)
        for target in gone:
            with _telling(f"{target} cannot be removed"):
                target.unlink()
        undo.pop_all()
    for second in kept:
        with contextlib.suppress(OSError):  # what was asked for is done
            second.unlink()
    for target in gone:
        _remove_empty(folder, target.parent)


def _place(path: Path) -> Path:
    return path.resolve() if path.is_symlink() else path


def _stage(target: Path, text: str, name: str, undo: contextlib.ExitStack) -> Path:
    """The text in a file beside its place, which goes away if anything fails."""
    for missing in reversed([parent for parent in target.parents if not os.path.lexists(parent)]):
        with _telling(f"the folder {missing} cannot be made"):
            missing.mkdir()
        _if_it_can(undo, missing.rmdir)
    temporary = target.with_name(name)
    _if_it_can(undo, temporary.unlink)
    with _telling(f"{target} cannot be written"):
        temporary.write_bytes(text.encode("utf-8", errors="surrogateescape"))
        if target.exists():
            shutil.copymode(target, temporary)
    return temporary


def _keep(target: Path, name: str, undo: contextlib.ExitStack) -> Path:
    """What is there under a second name, by which it comes back if anything fails; what was not there goes again."""
    second = target.with_name(name)
    if not os.path.lexists(target):
        _if_it_can(undo, target.unlink)
        return second
    _if_it_can(undo, second.unlink)  # where the two are still one file, the next line does nothing
    _if_it_can(undo, lambda: os.replace(second, target))
    with _telling(f"{target} cannot be kept until all is written"):
        try:
            os.link(target, second, follow_symlinks=False)
        except OSError:  # a file system without links
            shutil.copy2(target, second, follow_symlinks=False)
    return second


@contextlib.contextmanager
def _telling(what: str) -> Iterator[None]:
    """Say what could not be done, since the system names a file that nobody knows, or none."""
    try:
        yield
    except OSError as error:
        raise NotWritten(what, error) from error


def _if_it_can(undo: contextlib.ExitStack, what: Callable[[], object]) -> None:
    """Later, if anything fails: one that cannot be undone must not keep the others from it."""

    def attempt() -> None:
        with contextlib.suppress(OSError):
            what()

    undo.callback(attempt)


def _remove_empty(top: Path, folder: Path) -> None:
    while folder != top and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
