"""How a program talks with the harness, see `benchmarks.measure`. Imports little: it is measured along."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

__all__ = ["Progress", "listed", "ready", "say"]


def say(event: str, **details: object) -> None:
    """Tell the harness what was reached."""
    print(json.dumps({"event": event, **details}), flush=True)


def ready(namespaces: Sequence[object]) -> None:
    """Tell that a client is at work, as its list of the namespaces shows, and wait until the harness says to go on.

    Blocks, also an event loop: nothing else is going on then.
    """
    say("ready", count=len(namespaces))
    sys.stdin.readline()


def listed(objects: Sequence[object]) -> None:
    """Tell that a list is complete, and hold its objects until the harness has looked at the memory."""
    say("listed", count=len(objects))
    sys.stdin.readline()


class Progress:
    """Tells when an operator begins with its first reconcile, and when all are done. The Go program has the same."""

    def __init__(self, objects: int, writes: int) -> None:
        self._objects = objects
        self._writes = writes
        self._started = time.time()
        self._began = False
        self._seen: set[tuple[str, str]] = set()
        self._reconciles = 0
        self._latencies: list[float] = []

    def began(self) -> None:
        """A reconcile begins."""
        if not self._began:
            self._began = True
            say("first")

    def reconciled(self, key: tuple[str, str], written: str | None) -> None:
        """One reconcile is complete. `written` is the object's annotation with the time of the change."""
        now = time.time()
        self._reconciles += 1
        if key not in self._seen:
            self._seen.add(key)
            if len(self._seen) == self._objects:
                say("reconciled", count=len(self._seen), reconciles=self._reconciles)
        # Older changes are from the turn of another program.
        if written and float(written) > self._started and len(self._latencies) < self._writes:
            self._latencies.append((now - float(written)) * 1000)
            if len(self._latencies) == self._writes:
                say("latencies", milliseconds=self._latencies)
