"""Reports the progress of long operations: a spinner on a terminal, plain lines elsewhere.

A terminal without escape codes (`TERM=dumb`, or `NO_COLOR` is set) gets plain lines too.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

from kubewright.durations import format_duration

__all__ = ["Progress", "Step", "is_plain"]

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPIN_SECONDS = 0.1
_PATIENCE_SECONDS = 0.5
_REMIND_SECONDS = 30.0


def is_plain() -> bool:
    """Returns whether to avoid escape codes: NO_COLOR is set, or the terminal does not support them."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


class Step:
    """An operation in progress. `detail` describes its state and may be changed from any thread."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.detail = ""
        self._began = time.monotonic()

    @property
    def seconds(self) -> int:
        """The elapsed time."""
        return int(time.monotonic() - self._began)

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.title}{detail} ({format_duration(self.seconds)})"


class Progress:
    """Writes to `stream`. Default: standard error. With `quiet`, writes nothing."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._quiet = quiet
        self._terminal = not quiet and self._stream.isatty() and not is_plain()
        self._spinning = threading.Lock()

    def say(self, text: str) -> None:
        """Writes a line."""
        if not self._quiet:
            with self._spinning:
                self._stream.write(("\r\x1b[K" if self._terminal else "") + text + "\n")
                self._stream.flush()

    def clear(self) -> None:
        """Removes the spinner, so that another writer can write a line."""
        if self._terminal:
            with self._spinning:
                self._stream.write("\r\x1b[K")
                self._stream.flush()

    @contextlib.contextmanager
    def step(self, title: str, *, lines: bool = True) -> Iterator[Step]:
        """Shows `title` until the block ends, then the duration, unless the block raises.

        Without `lines`, shows only the spinner, after half a second, and removes it at the end.
        """
        step = Step(title)
        ended = threading.Event()
        if lines and not self._terminal:
            self.say(f"{title} ...")
        watcher = threading.Thread(
            target=self._watch, args=(step, ended, lines), name="kubewright-progress", daemon=True
        )
        if lines or self._terminal:
            watcher.start()
        try:
            yield step
        finally:
            ended.set()
            if watcher.ident is not None:
                watcher.join()
            self.clear()
        if lines:
            self.say(f"{'✓ ' if self._terminal else ''}{step.title}: done in {format_duration(step.seconds)}")

    def _watch(self, step: Step, ended: threading.Event, lines: bool) -> None:
        frame = 0
        if not lines and ended.wait(_PATIENCE_SECONDS):
            return
        while not ended.wait(_SPIN_SECONDS if self._terminal else _REMIND_SECONDS):
            if self._terminal:
                frame = (frame + 1) % len(_FRAMES)
                with self._spinning:
                    self._stream.write(f"\r\x1b[K{_FRAMES[frame]} {step}")
                    self._stream.flush()
            else:
                self.say(str(step))
