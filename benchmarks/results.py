"""What was measured: kept turn by turn, summed up as medians, written as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.arithmetic import Numbers, medians, ratios

__all__ = ["Case", "Column", "Results"]


@dataclass(frozen=True)
class Column:
    """A number that is shown: its name in the results, its heading and how many decimals it deserves."""

    name: str
    heading: str
    decimals: int = 1


@dataclass
class Case:
    """One thing that several programs did, and what each of them needed, in each of its turns."""

    name: str
    title: str
    reference: str
    """The program that the others are compared with."""
    columns: list[Column]
    turns: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    def add(self, program: str, numbers: Numbers) -> None:
        """Keep what one turn has shown."""
        self.turns.setdefault(program, []).append(dict(numbers))

    def medians(self) -> dict[str, dict[str, float]]:
        """The median of each number, by program, in the order of their first turns."""
        return {program: medians(turns) for program, turns in self.turns.items()}

    def ratios(self) -> dict[str, dict[str, float]]:
        """The medians as multiples of the reference's, by program. Nothing while the reference had no turn."""
        middle = self.medians()
        reference = middle.get(self.reference, {})
        return {program: ratios(numbers, reference) for program, numbers in middle.items()}


@dataclass
class Results:
    """One run of the benchmarks."""

    machine: dict[str, str | int | float]
    kubernetes: str
    settings: dict[str, int | float]
    programs: dict[str, str] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        """Write everything as a new JSON file in that folder."""
        folder.mkdir(parents=True, exist_ok=True)
        now = datetime.now(UTC)
        path = folder / f"{now:%Y%m%dT%H%M%SZ}.json"
        content = asdict(self) | {"measured_at": f"{now:%Y-%m-%dT%H:%M:%SZ}"}
        for case, shown in zip(self.cases, content["cases"], strict=True):
            shown.update(medians=case.medians(), ratios=case.ratios())
        path.write_text(json.dumps(content, indent=2) + "\n")
        return path
