"""tools/browser: which Chromium the tests of the console use."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "browser"


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL], env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_prefers_the_named_browser(tmp_path: Path) -> None:
    named = program(tmp_path / "my-chromium")
    assert run(KUBEWRIGHT_BROWSER=str(named)).stdout == f"{named}\n"


def test_fails_for_missing_named_browser(tmp_path: Path) -> None:
    done = run(KUBEWRIGHT_BROWSER=str(tmp_path / "nothing"))
    assert done.returncode == 1
    assert done.stderr == f"KUBEWRIGHT_BROWSER is {tmp_path}/nothing, which is not a program.\n"


def test_finds_browser_on_the_path(tmp_path: Path) -> None:
    program(tmp_path / "chromium")
    found = program(tmp_path / "chromium-headless-shell")
    done = run(PATH=f"{tmp_path}:{os.environ['PATH']}", KUBEWRIGHT_BROWSER="")
    assert done.stdout == f"{found}\n"
