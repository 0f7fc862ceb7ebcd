"""`python foo.py --help`, of a program that takes no flags."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.operator.settings import SETTINGS

PROGRAM = (
    'import kubewright as kw\n\noperator = kw.Operator("asked")\n\nif __name__ == "__main__":\n    operator.run()\n'
)


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_prints_usage_instead_of_running(flag: str, tmp_path: Path) -> None:
    (tmp_path / "foo.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "foo.py", flag], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: {Path(sys.executable).name} foo.py\n\nRuns the operator asked until")
    assert "`kubewright run foo.py` does" in done.stdout
    assert [setting.variable for setting in SETTINGS.values() if setting.variable not in done.stdout] == []
