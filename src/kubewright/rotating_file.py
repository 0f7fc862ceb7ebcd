"""A log file that only its owner can read, and whose size is bounded."""

from __future__ import annotations

import errno
import logging
import os
import stat
from pathlib import Path
from typing import Final

__all__ = ["MAX_BYTES", "MAX_OLD_FILES", "RotatingFile"]

MAX_BYTES: Final = 32 * 2**20
MAX_OLD_FILES: Final = 4
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)


class RotatingFile:
    """Appends lines to a file with mode 0600.

    Before the file exceeds `max_bytes`, it is renamed to `FILE.1`, `FILE.1` to `FILE.2` and so on; at most
    `max_old_files` of them are kept. A line that cannot be written is dropped. The first failure is logged to
    `logger`, which names the file as `what`; further ones are not, until a line is written again. Raises OSError if the
    file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        what: str,
        logger: logging.Logger,
        max_bytes: int = MAX_BYTES,
        max_old_files: int = MAX_OLD_FILES,
    ) -> None:
        self._path = path
        self._what = what
        self._logger = logger
        self._max_bytes = max_bytes
        self._max_old_files = max_old_files
        self._failed = False
        self._file, self._size = _opened(path)

    def write(self, line: bytes) -> None:
        """Appends one line. Never raises."""
        try:
            if self._size and self._size + len(line) > self._max_bytes:
                self._rotate()
            written = os.write(self._file, line)
            self._size += written
            if written < len(line):  # The disk is full: do not leave a partial line.
                os.ftruncate(self._file, self._size - written)
                self._size -= written
                raise OSError(f"only {written} of {len(line)} bytes were written")
        except OSError as error:
            if not self._failed:
                self._logger.error(
                    "cannot write the %s %s: %s; records are dropped until a write succeeds",
                    self._what,
                    self._path,
                    error,
                )
            self._failed = True
        else:
            self._failed = False

    def close(self) -> None:
        """Closes the file. Further calls do nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _rotate(self) -> None:
        names = [self._path, *(Path(f"{self._path}.{number}") for number in range(1, self._max_old_files + 1))]
        for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
            if newer.exists():
                os.replace(newer, older)
        if not self._max_old_files:
            self._path.unlink(missing_ok=True)
        opened = _opened(self._path)
        self.close()
        self._file, self._size = opened


def _opened(path: Path) -> tuple[int, int]:
    """Returns a file descriptor for appending, and the size of the file."""
    file = os.open(path, _FLAGS, 0o600)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        os.fchmod(file, 0o600)  # the file may have existed with another mode
    except BaseException:
        os.close(file)
        raise
    return file, found.st_size
