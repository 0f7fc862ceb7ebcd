"""One table of exit codes, in the code and on its page."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path

import pytest

from kubewright.cli._exit_codes import CommandExit
from kubewright.cli._main import run
from kubewright.operator import ExitCode

PAGE = Path(__file__).parents[2] / "docs" / "exit-codes.md"
_ROW = re.compile(r"^\| (\d+) \| `([A-Z_]+)` \| (.+) \|$", re.MULTILINE)


def rows(heading: str) -> dict[str, int]:
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return {name: int(code) for code, name, _ in _ROW.findall(section)}


@pytest.mark.parametrize(("heading", "codes"), [("Of the commands", CommandExit), ("Of an operator", ExitCode)])
def test_the_page_has_every_code_and_no_other(heading: str, codes: type[IntEnum]) -> None:
    assert rows(heading) == {code.name: code.value for code in codes}


def test_a_running_operator_agrees_about_what_went_well_failed_and_was_wrong() -> None:
    assert [int(code) for code in CommandExit][:3] == [int(code) for code in ExitCode][:3] == [0, 1, 2]


@pytest.mark.parametrize(
    "command",
    ["chart", "codegen", "deploy", "doctor", "install", "installer", "manifests", "run", "undeploy", "uninstall"],
)
def test_a_program_that_is_not_there_is_wrong_use_of_every_command(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    more = ["--out", "types.py"] if command == "codegen" else []
    assert run([command, "absent.py", *more]) == CommandExit.WRONG_USE
    [line] = capsys.readouterr().err.splitlines()
    assert "absent.py" in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["chart", "deploy", "doctor", "install", "manifests", "run", "undeploy"])
def test_a_program_that_raises_is_a_failure_of_every_command(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"raises_in_{command}.py").write_text("1 / 0\n")
    assert run([command, f"raises_in_{command}.py"]) == CommandExit.FAILED
    shown = capsys.readouterr().err
    assert "ZeroDivisionError" in shown
    assert shown.endswith(f"Error: raises_in_{command}.py cannot be imported, see above\n")
