"""The default samples of a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["samples_beside"]

_SUFFIXES: Final = (".yaml", ".yml", ".json")


def samples_beside(targets: Sequence[str], folder: Path) -> list[Path]:
    """Returns the default samples: `config/samples` of a project, or `example-*.yaml` next to a single file."""
    usual = folder / "config" / "samples"
    if usual.is_dir():
        return [usual]
    files = [Path(target.rpartition(":")[0] if ".py:" in target else target) for target in targets]
    found = [sample for file in files if file.suffix == ".py" for sample in file.parent.glob("example-*")]
    return sorted({path for path in found if path.suffix in _SUFFIXES})
