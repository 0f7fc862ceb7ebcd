"""Telling a person what takes so long: a spinner on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

__all__ = ["Progress", "Step"]

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPIN_SECONDS = 0.1
_REMIND_SECONDS = 30.0


class Step:
    """One thing that is under way; `detail` says how far it is and may be changed from any thread."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.detail = ""
        self._began = time.monotonic()

    @property
    def seconds(self) -> int:
        """How long it has been under way."""
        return int(time.monotonic() - self._began)

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.title}{detail} ({self.seconds} s)"


class Progress:
    """Writes to `stream` (standard error unless told otherwise). `quiet` writes nothing."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._quiet = quiet
        self._terminal = not quiet and self._stream.isatty()

    def say(self, text: str) -> None:
        """Write one line."""
        if not self._quiet:
            self._stream.write(("\r\x1b[K" if self._terminal else "") + text + "\n")
            self._stream.flush()

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Show `title` until the block ends, then how long it took. A block that raises shows no success."""
        step = Step(title)
        ended = threading.Event()
        if not self._terminal:
            self.say(f"{title} ...")
        watcher = threading.Thread(target=self._watch, args=(step, ended), name="kubewright-progress", daemon=True)
        watcher.start()
        try:
            yield step
        finally:
            ended.set()
            watcher.join()
            if self._terminal:
                self._stream.write("\r\x1b[K")
        self.say(f"{'✓ ' if self._terminal else ''}{step.title}: done in {step.seconds} s")

    def _watch(self, step: Step, ended: threading.Event) -> None:
        frame = 0
        while not ended.wait(_SPIN_SECONDS if self._terminal else _REMIND_SECONDS):
            if self._terminal:
                frame = (frame + 1) % len(_FRAMES)
                self._stream.write(f"\r\x1b[K{_FRAMES[frame]} {step}")
                self._stream.flush()
            else:
                self.say(str(step))
