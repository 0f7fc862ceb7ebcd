from __future__ import annotations

import contextlib
import io
import subprocess
import sys

import pytest

import kubewright
from kubewright import cli
from kubewright.cli import COMMANDS


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in this process, which saves the start of another one."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = cli.run(arguments)
    return subprocess.CompletedProcess(arguments, code, output.getvalue(), errors.getvalue())


@pytest.mark.parametrize("module", ["kubewright", "kubewright.cli"])
def test_the_version_is_one_line(module: str) -> None:
    command = [sys.executable, "-m", module, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"kubewright {kubewright.__version__}\n", "")


def test_an_invalid_command_ends_with_an_exit_code() -> None:
    done = subprocess.run([sys.executable, "-m", "kubewright", "xyz"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: No such command 'xyz'.")


def test_the_version_command_also_names_what_is_pinned() -> None:
    done = run("version")
    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == [
        f"kubewright {kubewright.__version__}",
        "kubernetes 1.36.3 (control plane for tests)",
    ]


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], *([name, "--help"] for name in COMMANDS)])
def test_help_is_there_for_everything(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: kubewright ")


def test_the_list_of_commands_says_what_each_does() -> None:
    shown = run("--help").stdout
    for name, entry in COMMANDS.items():
        assert name in shown
        assert entry.summary in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["contrlplane"], "No such command 'contrlplane'. Did you mean 'controlplane'? (see `kubewright --help`)"),
        (["xyz"], f"No such command 'xyz'. There are: {', '.join(sorted(COMMANDS))}. (see `kubewright --help`)"),
        (["--verison"], "No such option '--verison'. Did you mean '--version'? (see `kubewright --help`)"),
        (
            ["controlplane", "strat"],
            "No such command 'strat'. Did you mean 'start'? (see `kubewright controlplane --help`)",
        ),
        (
            ["controlplane", "start", "--with-controlers"],
            "No such option '--with-controlers'. Did you mean '--with-controllers'? "
            "(see `kubewright controlplane start --help`)",
        ),
        (
            ["controlplane", "start", "--write-kubeconfg", "x"],
            "No such option '--write-kubeconfg'. Did you mean '--write-kubeconfig'? "
            "(see `kubewright controlplane start --help`)",
        ),
        (
            ["controlplane", "start", "--write-kubeconfig"],
            "Option '--write-kubeconfig' requires an argument.",
        ),
        (
            ["install", "--timeout", "soon"],
            "Invalid value for '--timeout': 'soon' is not a valid number of seconds. (see `kubewright install --help`)",
        ),
        (
            ["cluster", "start", "--port", "x"],
            "Invalid value for '--port': 'x' is not a valid whole number. (see `kubewright cluster start --help`)",
        ),
        (
            ["--context", "staging", "deploy"],
            "No such option '--context'. Put options after the command, as in `kubewright run --context ...`. "
            "(see `kubewright --help`)",
        ),
        (
            ["controlplane", "path", "extra"],
            "Got unexpected extra argument (extra) (see `kubewright controlplane path --help`)",
        ),
    ],
)
def test_a_typo_gets_one_line_and_a_failure(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"Error: {message}\n")


@pytest.mark.parametrize("arguments", [[], ["controlplane"]])
def test_a_group_without_a_command_shows_its_help_and_fails(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: kubewright ")
    assert done.stderr == run(*arguments, "--help").stdout


def test_a_reader_that_has_seen_enough_is_not_an_error_message() -> None:
    command = f"{sys.executable} -m kubewright.cli version | head -n 0"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [["version"], ["version", "--output", "json"], ["--help"]])
def test_closed_standard_output_is_not_a_failure(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stdout", None)  # as Python does after `kubewright version >&-`
    with contextlib.redirect_stderr(errors):
        assert cli.run(arguments) == 0
    assert errors.getvalue() == ""


def test_starting_imports_nothing_heavy() -> None:
    program = (
        "import sys; from kubewright.cli import run; run(['--help']);"
        "print(*(name for name in ('aiohttp', 'cryptography', 'yaml', 'msgspec', 'ssl') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
