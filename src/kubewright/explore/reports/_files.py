"""Plans as files, and as pytest tests."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kubewright.explore.model import Finding, Plan
from kubewright.explore.reports._text import fault_words

__all__ = ["PlanFile", "load_plan", "pytest_source", "save_plan"]

_MAX_FILE_BYTES = 4 << 20


class PlanFile(msgspec.Struct, frozen=True):
    """A plan that can be replayed, with the finding that it showed."""

    target: str
    samples: tuple[str, ...]
    oracle: str
    subject: str
    summary: str
    plan: Plan


def save_plan(path: Path, target: str, samples: tuple[str, ...], finding: Finding) -> None:
    """Writes the plan of a finding. Raises OSError."""
    assert finding.plan is not None
    saved = PlanFile(target, samples, finding.oracle, finding.subject, finding.summary, finding.plan)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(saved), indent=1))


def load_plan(path: Path) -> PlanFile:
    """Reads a plan. Raises ValueError for a file that is not a plan, and OSError."""
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise ValueError(f"{path} is too large for a plan")
    try:
        return msgspec.json.decode(path.read_bytes(), type=PlanFile)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path} is not a plan of kubewright explore: {error}") from error


def pytest_source(finding: Finding, plan_file: Path) -> str:
    """Returns a pytest test that fails as long as the bug exists."""
    assert finding.plan is not None
    faults = "; ".join(fault_words(fault) for fault in finding.plan.faults) or finding.plan.story.name
    name = "".join(part if part.isalnum() else "_" for part in finding.oracle)
    quoted = f"{finding.oracle}: {faults}".replace('"', "'")
    return (
        "from kubewright.explore import replay\n\n\n"
        f"def test_{name}() -> None:\n"
        f'    """{quoted[:100]}"""\n'
        f"    assert replay({str(plan_file)!r}) == []\n"
    )
