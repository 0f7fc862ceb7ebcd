"""What the generating suite measures works."""

import sys
from pathlib import Path

import pytest

from benchmarks.generating import definition, measured, project
from benchmarks.measure import Failed


def test_the_project_has_ten_kinds_and_its_manifests_are_written(tmp_path: Path) -> None:
    file = tmp_path / "ten_kinds.py"
    file.write_text(project())
    out = tmp_path / "config"
    numbers = measured([sys.executable, "-m", "kubewright.cli", "manifests", str(file), "--out", str(out)])
    assert set(numbers) == {"wall", "cpu", "peak"}
    assert len(list((out / "crd" / "bases").iterdir())) == 10


def test_the_large_definition_is_large_and_becomes_a_module(tmp_path: Path) -> None:
    text = definition()
    assert 1_300_000 < len(text) < 1_600_000
    file, out = tmp_path / "large.yaml", tmp_path / "large.py"
    file.write_text(text)
    measured([sys.executable, "-m", "kubewright.cli", "codegen", str(file), "--out", str(out)])
    assert "class Large(kw.Resource[LargeSpec, None]):" in out.read_text()


def test_failed_program_is_not_measured() -> None:
    with pytest.raises(Failed, match="ended with 3"):
        measured([sys.executable, "-c", "raise SystemExit(3)"])
