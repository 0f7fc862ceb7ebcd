"""`kubewright dev` on a terminal, on a pipe, and with invalid options."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from kubewright.cli import run
from tests.development.dev_process import PROGRAM, SAMPLE, save
from tests.patience import PATIENCE

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "notes.py"
    path.write_text(PROGRAM)
    (tmp_path / "example-note.yaml").write_text(SAMPLE)
    return path


class Terminal:
    """A terminal with the command in its foreground."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._own, others = pty.openpty()
        fcntl.ioctl(others, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "NO_COLOR"))}
        # A session leader that opens a terminal controls it, so that Ctrl-C sends a signal to the command.
        opened = f"import os, sys; os.open({os.ttyname(others)!r}, os.O_RDWR); os.execv(sys.executable, sys.argv[1:])"
        command = [sys.executable, "-m", "kubewright", "dev", *arguments]
        self.process = subprocess.Popen(
            [sys.executable, "-c", opened, *command],
            cwd=folder,
            stdin=others,
            stdout=others,
            stderr=others,
            env={**clean, "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(others)
        self.text = ""

    def read_until(self, pattern: str) -> None:
        """Reads until the new output contains a string."""
        begin, end = len(self.text), time.monotonic() + PATIENCE
        while not re.search(pattern, self.text[begin:]):
            assert time.monotonic() < end, f"{pattern!r} was not shown:\n{self.text}"
            if select.select([self._own], [], [], 1.0)[0]:
                self.text += os.read(self._own, 1 << 16).decode(errors="replace")

    def press(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def ended(self) -> int:
        """Reads the rest of the output, and returns the exit code."""
        try:
            while chunk := os.read(self._own, 1 << 16):
                self.text += chunk.decode(errors="replace")
        except OSError:  # the other side of the terminal is closed
            pass
        return self.process.wait(timeout=PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._own)


@pytest.mark.promise(
    "Development",
    "A terminal shows a live table with colors, a pipe plain lines, and scripts get JSON.",
)
def test_shows_a_live_table_with_colors_on_a_terminal_until_ctrl_c(program: Path) -> None:
    terminal = Terminal(program.parent, program.name, "--no-console")
    try:
        terminal.read_until("export KUBECONFIG=")
        terminal.read_until("notes: running")
        terminal.read_until(r"Note default/sample  Said=first hello  ok, \d+s ago")
        save(program, PROGRAM + "    raise RuntimeError('no luck')\n")
        terminal.read_until(r"Note default/sample  Said=first hello  failed \d+s ago.*no luck")
        terminal.press("\x03")
        assert terminal.ended() == 0
    finally:
        terminal.close()
    assert "\x1b[32m" in terminal.text
    assert "everything has stopped" in terminal.text.splitlines()[-1]


@pytest.mark.promise(
    "Development",
    "A terminal shows a live table with colors, a pipe plain lines, and scripts get JSON.",
)
def test_writes_plain_lines_to_a_pipe(program: Path) -> None:
    command = [sys.executable, "-m", "kubewright", "dev", program.name, "--no-console"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
    environ = {**clean, "TERM": "xterm"}
    with subprocess.Popen(
        command, cwd=program.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "Said=first hello" in line:
                process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 0
    text = "".join(lines)
    assert "\x1b" not in text
    assert re.fullmatch(r"\d\d:\d\d:\d\d cluster    the embedded cluster is ready at https://127.0.0.1:\d+\n", lines[0])
    assert re.search(r"defined    notes.dev.example.com\n", text)
    assert re.search(r"applied    Note default/sample of example-note.yaml\n", text)
    assert lines[-1].endswith("stopped    everything has stopped\n")


def test_ends_when_the_reader_closes_the_pipe(program: Path) -> None:
    command = [sys.executable, "-m", "kubewright", "dev", program.name, "--no-console"]
    with subprocess.Popen(
        command, cwd=program.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=PATIENCE) == 0
        assert process.stderr.read() == ""


@pytest.mark.promise("Development", "A misspelled option of `dev` is refused before anything starts.")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["notess.py"], "there is no file notess.py"),
        (["notess"], "there is no file or module 'notess'"),
        ([], "name a FILE_OR_MODULE, or run this in a project's folder"),
        (["notes.py", "--samples", "no/such"], "'no/such' does not exist"),
        (["notes.py", "--samples", ".", "--no-samples"], "exclude each other"),
        (["notes.py", "--rbac", "--context", "kind"], "--rbac is for the embedded cluster"),
        (["notes.py", "--run-pods", "--context", "kind"], "--run-pods is for the embedded cluster"),
        (["notes.py", "--images", "notes.py"], "--images requires --run-pods"),
        (["notes.py", "--nodes", "3", "--kubeconfig", "x"], "--nodes is for the embedded cluster"),
        (["notes.py", "--write-kubeconfig", "x", "--context", "kind"], "--write-kubeconfig is for the embedded"),
        (["notes.py", "--nodes", "0"], "0 is not in the range"),
        (["notes.py", "--console-port", "70000"], "70000 is not in the range"),
        (["notes.py", "--output", "yaml"], "'yaml' is not one of 'text', 'json'"),
        (["notes.py", "--consolle"], "--console"),
        (["notes.py", "--kubeconfig", "no/such"], "no/such"),
        (["notes.py", "--context", "no-such"], "no cluster is configured"),
    ],
)
def test_rejects_invalid_options(
    program: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(program.parent)
    monkeypatch.setenv("HOME", str(program.parent))
    assert run(["dev", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.startswith("Error: ")
    assert captured.out == ""


@pytest.mark.promise("Development", "A misspelled option of `dev` is refused before anything starts.")
def test_reports_a_cluster_that_does_not_answer(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = program.with_name("kubeconfig")
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, users: [{name: u, user: {token: t}}],"
        " clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}],"
        " contexts: [{name: c, context: {cluster: k, user: u}}]}\n"
    )
    monkeypatch.chdir(program.parent)
    assert run(["dev", program.name, "--kubeconfig", str(kubeconfig)]) == 1
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "127.0.0.1:1" in error
