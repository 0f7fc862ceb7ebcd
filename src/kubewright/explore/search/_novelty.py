"""`Novelty`: what runs have shown so far, and which runs are equivalent."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from kubewright.explore.model import Outcome, Plan
from kubewright.explore.runner import reachable_lines
from kubewright.explore.worlds import scrubbed

__all__ = ["Novelty", "unreached"]


class Novelty:
    """Counts what is new in each outcome: lines of the operator, sequences of requests, and states of objects.

    Plans with the same requests and the same final states are equivalent. Faults are combined only with one of them,
    the most novel ones first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[str, set[int]] = {}
        self._seen: set[bytes] = set()
        self._marks: dict[bytes, tuple[int, bytes]] = {}
        self.count = 0
        """How much was new so far."""

    def note(self, plan: Plan, outcome: Outcome) -> int:
        """Notes an outcome. Returns how many lines, sequences and states are new."""
        sequence = _digest([(sent.verb, sent.resource, sent.subresource, sent.status) for sent in outcome.requests])
        states = [_state(checkpoint.world) for checkpoint in outcome.checkpoints]
        with self._lock:
            new = len({sequence, *states} - self._seen)
            self._seen |= {sequence, *states}
            for path, lines in outcome.lines.items():
                known = self._lines.setdefault(path, set())
                new += len(set(lines) - known)
                known.update(lines)
            self.count += new
            self._marks[msgspec.json.encode(plan)] = (new, sequence + b"".join(states))
        return new

    def distinct(self, plans: Sequence[Plan]) -> list[Plan]:
        """Returns one of each set of equivalent plans, the most novel ones first."""
        found: dict[bytes, tuple[int, Plan]] = {}
        with self._lock:
            for plan in plans:
                name = msgspec.json.encode(plan)
                new, digest = self._marks.get(name, (0, name))
                found.setdefault(digest, (new, plan))
        return [plan for _, plan in sorted(found.values(), key=lambda each: -each[0])]

    @property
    def lines(self) -> dict[str, list[int]]:
        """The lines that were reached, by file."""
        with self._lock:
            return {path: sorted(lines) for path, lines in sorted(self._lines.items())}

    def restore(self, lines: Mapping[str, Sequence[int]]) -> None:
        """Adds lines that an earlier exploration has reached."""
        with self._lock:
            for path, reached in lines.items():
                self._lines.setdefault(path, set()).update(reached)


def _digest(value: object) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(value, order="deterministic"), digest_size=12).digest()


def _state(world: Mapping[tuple[str, str, str], object]) -> bytes:
    return _digest([(key, scrubbed(obj)) for key, obj in sorted(world.items())])


def unreached(lines: Mapping[str, Sequence[int]]) -> list[str]:
    """Returns the statements that no run reached, one line per file: `foo.py: 12, 40-44`."""
    found = []
    for path, reached in lines.items():
        try:
            possible = reachable_lines(Path(path).read_bytes())
        except (OSError, SyntaxError):
            continue
        ranges = _ranges(possible, set(reached))
        if ranges:
            found.append(f"{Path(path).name}: {', '.join(ranges)}")
    return found


def _ranges(possible: Sequence[int], reached: set[int]) -> list[str]:
    """Returns the lines that were not reached; statements that follow each other are one range."""
    groups: list[list[int]] = []
    joined = False
    for line in possible:
        if line in reached:
            joined = False
        elif joined:
            groups[-1].append(line)
        else:
            groups.append([line])
            joined = True
    return [str(group[0]) if len(group) == 1 else f"{group[0]}-{group[-1]}" for group in groups]
