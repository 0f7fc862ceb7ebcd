"""Measuring a program from outside: how long until it said something, what it has used by then.

A program under test is a process of its own. It tells what it has reached by lines of JSON on standard output, such as
`{"event": "reconciled", "count": 10000}`, and goes on when it reads a line. Time, CPU and memory are taken here, at
the moment when the line arrives, so that programs in different languages are measured alike. Linux only.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["Failed", "Process", "Usage", "parse_cpu_ticks", "parse_memory"]

_PATIENCE = 300.0
_GRACE = 10.0
_LOG_TAIL = 15
_MEGABYTE = 1024.0


class Failed(Exception):
    """The program ended or stayed silent before it said what was expected."""


@dataclass(frozen=True)
class Usage:
    """What a process has used since its start."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds, of all its threads, in user and kernel mode."""
    memory: float
    """Megabytes that are resident now."""
    peak: float
    """Megabytes that were resident at the most."""


class Process:
    """A running program. Its standard error is kept, and shown when it fails; it ends with the block."""

    def __init__(self, command: Sequence[str | Path], *, cwd: Path | None = None) -> None:
        self.name = " ".join(str(word) for word in command[:4])
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed in `close`
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self._unread = b""
        assert self._process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)

    def wait_for(self, event: str, patience: float = _PATIENCE) -> tuple[dict[str, Any], Usage]:
        """The next line, which must be that event, and what was used when it arrived. Raises Failed."""
        line = self._read_line(patience, event)
        usage = self.usage()
        said: dict[str, Any] = json.loads(line)
        if said.get("event") != event:
            raise Failed(f"{self.name} should have said {event!r}, and said {line!r}")
        return said, usage

    def go(self) -> None:
        """Let the program go on."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()

    def usage(self) -> Usage:
        """What it has used until now."""
        wall = time.monotonic() - self._started
        folder = Path("/proc") / str(self._process.pid)
        ticks = parse_cpu_ticks((folder / "stat").read_text())
        status = (folder / "status").read_text()
        return Usage(
            wall=wall,
            cpu=ticks / os.sysconf("SC_CLK_TCK"),
            memory=parse_memory(status, "VmRSS"),
            peak=parse_memory(status, "VmHWM"),
        )

    def close(self) -> None:
        """Ask it to end; kill it when it does not."""
        self._selector.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            # Also reads what it still says, so that it cannot block on a full pipe.
            self._process.communicate(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_line(self, patience: float, event: str) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + patience
        while b"\n" not in self._unread:
            if not self._selector.select(max(deadline - time.monotonic(), 0)):
                raise Failed(f"{self.name} did not say {event!r} within {patience:g} s\n{self._last_words()}")
            piece = os.read(self._process.stdout.fileno(), 2**16)
            if not piece:
                code = self._process.wait()
                raise Failed(f"{self.name} ended with {code} before it said {event!r}\n{self._last_words()}")
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _last_words(self) -> str:
        self._log.seek(0)
        return "\n".join(self._log.read().decode(errors="replace").splitlines()[-_LOG_TAIL:])


def parse_cpu_ticks(stat: str) -> int:
    """The clock ticks in user and kernel mode that /proc/PID/stat tells. A program's name may contain anything."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def parse_memory(status: str, field: str) -> float:
    """The megabytes that a field of /proc/PID/status tells."""
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) / _MEGABYTE
    raise ValueError(f"/proc/PID/status has no {field}: the process has ended, or this is not Linux")
