"""The table of exit codes, in the code and in the documentation."""

from __future__ import annotations

import io
import re
from enum import IntEnum
from pathlib import Path

import pytest

from kubewright.cli import CommandExit, run
from kubewright.operator import ExitCode
from tests.cli.commands import write_kubeconfig

PAGE = Path(__file__).parents[2] / "docs" / "exit-codes.md"
PROGRAM = """
import kubewright as kw

class Spec(kw.Model):
    size: int = 1

@kw.resource("shop.example.com/v1")
class Till(kw.Resource[Spec, None]):
    pass

operator = kw.Operator("shop")

@operator.reconciles(Till)
async def sync(till: Till, ctx: kw.Context[Till]) -> None: ...
"""
_ROW = re.compile(r"^\| (\d+) \| `([A-Z_]+)` \| (.+) \|$", re.MULTILINE)


def rows(heading: str) -> dict[str, int]:
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return {name: int(code) for code, name, _ in _ROW.findall(section)}


@pytest.mark.promise("Projects", "All commands share one table of exit codes, which the page has.")
@pytest.mark.parametrize(("heading", "codes"), [("Of the commands", CommandExit), ("Of an operator", ExitCode)])
def test_the_page_lists_exactly_the_codes(heading: str, codes: type[IntEnum]) -> None:
    assert rows(heading) == {code.name: code.value for code in codes}


def test_a_running_operator_agrees_about_what_went_well_failed_and_was_wrong() -> None:
    assert [int(code) for code in CommandExit][:3] == [int(code) for code in ExitCode][:3] == [0, 1, 2]


@pytest.mark.promise("Projects", "All commands share one table of exit codes, which the page has.")
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


@pytest.mark.promise("Projects", "All commands share one table of exit codes, which the page has.")
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


@pytest.mark.parametrize(
    "command", ["bundle", "chart", "deploy", "doctor", "install", "installer", "manifests", "run", "undeploy"]
)
@pytest.mark.parametrize("code", ["", "0", "'bye'"])
def test_a_program_that_leaves_is_a_failure_of_every_command(
    command: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"leaves_in_{command}.py").write_text(f"import sys\nsys.exit({code})\n")
    assert run([command, f"leaves_in_{command}.py"]) == CommandExit.FAILED
    shown = capsys.readouterr().err
    assert f'leaves_in_{command}.py", line 2, in <module>' in shown
    assert f"Error: leaves_in_{command}.py cannot be imported: it calls sys.exit(), see above. Keep" in shown


@pytest.mark.parametrize("command", ["manifests", "run"])
def test_a_program_that_is_interrupted_interrupts_the_command(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"interrupted_in_{command}.py").write_text("raise KeyboardInterrupt\n")
    assert run([command, f"interrupted_in_{command}.py"]) == CommandExit.INTERRUPTED
    assert "cannot be imported" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["uninstall", "undeploy"])
@pytest.mark.parametrize(
    ("answer", "message"),
    [("", "Nothing was deleted. Use --yes where there is no terminal to answer on."), ("n\n", "Nothing was deleted.")],
)
def test_removes_nothing_without_confirmation(
    command: str,
    answer: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / f"kept_by_{command}_{len(answer)}.py"
    file.write_text(PROGRAM)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    kubeconfig = write_kubeconfig(tmp_path / "clusters", "https://127.0.0.1:1")
    assert run([command, str(file), "--kubeconfig", str(kubeconfig)]) == CommandExit.INTERRUPTED
    errors = capsys.readouterr().err
    assert errors.splitlines()[-1].endswith(message)
    assert "https://127.0.0.1:1" in errors, "the question names the cluster"


def test_uninstall_without_kinds_removes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kindless.py"
    file.write_text('import kubewright as kw\n\noperator = kw.Operator("kindless")\n')
    assert run(["uninstall", str(file), "--kubeconfig", str(tmp_path / "none")]) == CommandExit.DONE
    assert capsys.readouterr() == ("The program has no kinds of its own: there is nothing to remove.\n", "")


@pytest.mark.parametrize("image", ["", "Shop:1"])
def test_rejects_an_invalid_image_before_connecting(
    image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"image_{len(image)}.py"
    file.write_text(PROGRAM)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert run(["deploy", str(file), "--image", image]) == CommandExit.WRONG_USE
    assert f"{image!r} is not the name of an image" in capsys.readouterr().err
