"""The committed list of differences: by cause, how many requests of each kind have it. It may only shrink."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from tests.cluster.differential.generated.running import Findings

__all__ = ["FILE", "KNOWN_LIVES", "grown", "known", "shortened", "shrunk", "written"]

KNOWN_LIVES: Final[frozenset[str]] = frozenset(
    json.loads(Path(__file__).with_name("known_lifecycles.json").read_text())
)
"""The lives that differ (`lifecycles.py`)."""
FILE: Final = Path(__file__).with_name("known_differences.json")


def known() -> dict[str, Counter[str]]:
    """The differences of the last full run."""
    return {cause: Counter(kinds) for cause, kinds in json.loads(FILE.read_text()).items()}


def grown(found: Findings, before: Mapping[str, Counter[str]]) -> list[str]:
    """The differences that the list does not allow, each with an example."""
    lines = []
    for cause, kinds in sorted(found.causes.items()):
        allowed = before.get(cause, Counter())
        more = {kind: count for kind, count in sorted(kinds.items()) if count > allowed[kind]}
        if more:
            name, example = found.examples[cause]
            lines.append(f"{cause}\n  {more}, listed { ({kind: allowed[kind] for kind in more}) }\n  {name}: {example}")
    return lines


def shrunk(found: Findings, before: Mapping[str, Counter[str]], ran: Collection[str]) -> list[str]:
    """The entries of the list that a run of these kinds found less often."""
    return [
        f"{cause}: {kind} {count}, now {found.causes.get(cause, Counter())[kind]}"
        for cause, kinds in sorted(before.items())
        for kind, count in sorted(kinds.items())
        if kind in ran and found.causes.get(cause, Counter())[kind] < count
    ]


def shortened(found: Findings, before: Mapping[str, Counter[str]], kinds: Collection[str]) -> dict[str, Counter[str]]:
    """The list after a run of these kinds. No kind has more differences than before.

    A fix can change a cause: a request that was accepted is rejected with other words. Therefore the causes of a kind
    are those of the run, unless they are more than before in all; then only what is gone is removed.
    """
    recorded = {kind for kind in kinds if _total(found.causes, kind) <= _total(before, kind)}
    left: dict[str, Counter[str]] = {}
    for cause in sorted(before.keys() | found.causes.keys()):
        old, new = before.get(cause, Counter()), found.causes.get(cause, Counter())
        chosen = {kind: _entry(kind, old[kind], new[kind], kinds, recorded) for kind in old.keys() | new.keys()}
        left[cause] = +Counter(chosen)
    return {cause: counts for cause, counts in left.items() if counts}


def _entry(kind: str, old: int, new: int, kinds: Collection[str], recorded: Collection[str]) -> int:
    if kind in recorded:
        return new
    return min(old, new) if kind in kinds else old


def _total(table: Mapping[str, Counter[str]], kind: str) -> int:
    return sum(counts[kind] for counts in table.values())


def written(table: Mapping[str, Counter[str]]) -> str:
    """The list as text, one line for each cause."""
    lines = [
        f"{json.dumps(cause)}: {json.dumps(dict(sorted(kinds.items())))}" for cause, kinds in sorted(table.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"
