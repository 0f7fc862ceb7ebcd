"""Ctrl-C before a command runs, while Python still imports the command line."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.cli import CommandExit, run
from kubewright.version import VERSION

# Sends Ctrl-C when a module is about to be imported, and then starts the command line.
PROGRAM = """
import runpy, signal, sys

module, start, *sys.argv[1:] = sys.argv[1:]

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            print("interrupted", flush=True)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
if start == "script":
    from kubewright.cli import main
    main()
runpy.run_module(start, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("start", "module"),
    [
        ("kubewright", "kubewright.cli"),
        *itertools.product(
            ["kubewright", "kubewright.cli", "script"], ["kubewright.cli._main", "click", "kubewright.cli._version"]
        ),
    ],
)
def test_ends_quietly_if_interrupted_during_imports(start: str, module: str) -> None:
    command = [sys.executable, "-c", PROGRAM, module, start, "version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (CommandExit.INTERRUPTED, "interrupted\n", "")


def test_runs_in_a_thread() -> None:
    """Only the main thread may handle signals."""
    program = "import sys, threading; from kubewright.cli import main; threading.Thread(target=main).start()"
    done = subprocess.run([sys.executable, "-c", program, "version"], capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines()[0], done.stderr) == (f"kubewright {VERSION}", "")


@pytest.mark.parametrize("command", ["manifests", "run"])
def test_interrupted_while_a_class_is_created(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python 3.11 raises a RuntimeError then."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"creating_in_{command}.py").write_text(
        "class Member:\n"
        "    def __set_name__(self, owner, name):\n"
        "        raise KeyboardInterrupt\n\n"
        "class Color:\n"
        "    RED = Member()\n"
    )
    assert run([command, f"creating_in_{command}.py"]) == CommandExit.INTERRUPTED
    assert capsys.readouterr().err.strip() == ""
