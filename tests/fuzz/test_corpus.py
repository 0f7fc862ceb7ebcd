"""Replays the corpus of every fuzz target: samples, and the inputs of past findings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS
from tests.patience import PATIENCE

CORPUS = Path(__file__).parent / "corpus"
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("target", TARGETS)
def test_corpus_has_no_finding(target: str) -> None:
    files = sorted(map(str, (CORPUS / target).iterdir()))
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.replay", target, *files],
        capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
    )  # fmt: skip
    last = ended.stdout.splitlines()[-1:] or ["the start"]
    assert ended.returncode == 0, f"exit code {ended.returncode} at {last[0]}:\n{ended.stderr[-4000:]}"


def test_every_corpus_belongs_to_a_target() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)
