"""`Saved`: the state of an exploration in a file, to continue it later."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kubewright.explore.model import Finding, Report

__all__ = ["Saved", "fingerprint", "load_saved", "save"]


class Saved(msgspec.Struct):
    """The progress of an exploration."""

    fingerprint: str
    """A digest of the program, the samples and the seed. If it differs, the exploration starts over."""
    done: list[str] = []
    """The plans and stories that have run."""
    findings: list[Finding] = []
    executed: int = 0
    values: list[str] = []
    lines: dict[str, list[int]] = {}


def fingerprint(target: str, samples: Sequence[str | os.PathLike[str]], seed: int) -> str:
    """Returns a digest of the Python files in the program's folder, the samples, and the seed."""
    where = Path(target.rpartition(":")[0] if ".py:" in target else target)
    digest = hashlib.blake2b(f"{target} {seed}".encode(), digest_size=16)
    files = sorted(where.resolve().parent.glob("*.py")) if where.suffix == ".py" else []
    for sample in map(Path, samples):
        files += sorted(sample.iterdir()) if sample.is_dir() else [sample]
    for path in files:
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def load_saved(path: Path, expected: str) -> Saved:
    """Returns the saved state, or a new one if there is no file or it is about something else.

    Raises ValueError if the file is not a saved exploration.
    """
    if not path.exists():
        return Saved(expected)
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Saved)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is not a saved exploration: {error}") from error
    return found if found.fingerprint == expected else Saved(expected)


def save(path: Path, saved: Saved, report: Report) -> None:
    """Writes the state. The file is replaced in one step."""
    saved.findings, saved.executed, saved.values = list(report.findings), report.executed, list(report.values)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(msgspec.json.encode(saved))
    partial.replace(path)
