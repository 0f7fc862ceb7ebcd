"""The committed list of differences: by cause, how many requests of each kind have it. It may only shrink."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.cluster.differential.generated.running import Findings

__all__ = ["FILE", "KNOWN_LIVES", "grown", "known", "shrunk", "written"]

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


def shrunk(found: Findings, before: Mapping[str, Counter[str]]) -> list[str]:
    """The entries of the list that a full run found less often."""
    return [
        f"{cause}: {kind} {count}, now {found.causes.get(cause, Counter())[kind]}"
        for cause, kinds in sorted(before.items())
        for kind, count in sorted(kinds.items())
        if found.causes.get(cause, Counter())[kind] < count
    ]


def written(found: Findings) -> str:
    """The list as text, one line for each cause."""
    lines = [
        f"{json.dumps(cause)}: {json.dumps(dict(sorted(kinds.items())))}"
        for cause, kinds in sorted(found.causes.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"
