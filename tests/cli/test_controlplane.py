from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from kubewright import cli
from kubewright.testing import find_binaries
from kubewright.testing.binaries import BINARIES

Run: TypeAlias = Callable[..., tuple[int, str, str]]
"""Runs the command with these arguments and variables; returns its exit code, its output and its errors."""
COMMAND = [sys.executable, "-m", "kubewright.cli", "controlplane"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )


@pytest.fixture
def run_here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in this process."""

    def run_here(*arguments: str, **environment: str) -> tuple[int, str, str]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        code = cli.run(["controlplane", *arguments])
        return code, *capsys.readouterr()

    return run_here


@pytest.mark.promise("The control plane for tests", "The command line sets it up, names its folder and starts it.")
@pytest.mark.control_plane
def test_setup_and_path_name_the_folder_of_the_binaries() -> None:
    done = run("setup")
    folder = find_binaries()
    assert folder is not None
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [f"The control plane of Kubernetes 1.36.3 is ready in {folder}"],
    )

    shown = run("path")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"{folder}\n", "")
    assert {path.name for path in folder.iterdir()} >= set(BINARIES)


def test_path_without_binaries_names_the_fix(tmp_path: Path, run_here: Run) -> None:
    code, output, errors = run_here("path", KUBEWRIGHT_CACHE_DIR=str(tmp_path), KUBEBUILDER_ASSETS="")
    assert (code, output) == (1, "")
    assert errors == "Error: the binaries are not installed; run `kubewright controlplane setup`\n"


def test_a_failed_setup_prints_one_line(tmp_path: Path, run_here: Run) -> None:
    (tmp_path / "file").touch()
    code, _, errors = run_here("setup", KUBEWRIGHT_CACHE_DIR=str(tmp_path / "file"), KUBEBUILDER_ASSETS="")
    assert code == 1
    assert errors.startswith("Error: the cache directory ")
    assert len(errors.splitlines()) == 1


def test_an_interrupted_setup_leaves_no_partial_files(tmp_path: Path) -> None:
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    (tmp_path / "bin").mkdir()
    go = tmp_path / "bin" / "go"
    go.write_text(f'#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.0; exit; fi\necho > {fifo}; exec cat {fifo}\n')
    go.chmod(0o755)
    settings = {
        "KUBEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
        "KUBEWRIGHT_ENVTEST_INDEX": "",
        "KUBEBUILDER_ASSETS": "",
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
    }
    with subprocess.Popen(
        [*COMMAND, "setup"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | settings
    ) as process:
        fifo.read_text()  # the build has started
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()

    assert (process.returncode, output) == (130, "")
    assert errors.strip() == "build etcd with Go 1.26.0 ..."
    (folder,) = (path for path in (tmp_path / "cache" / "controlplane").iterdir() if path.is_dir())
    assert list(folder.iterdir()) == []


@pytest.mark.promise("The control plane for tests", "The command line sets it up, names its folder and starts it.")
@pytest.mark.control_plane
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_start_runs_until_a_signal_and_removes_its_kubeconfig(tmp_path: Path, ending: signal.Signals) -> None:
    kubeconfig = tmp_path / "my config"
    arguments = ["start", "--with-controllers", "--write-kubeconfig", str(kubeconfig), "--logs", str(tmp_path / "logs")]
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(6)]
        assert lines[0].startswith("The control plane is ready at https://127.0.0.1:")
        # The printed commands work as they are.
        next_steps = "".join(lines[2:4])
        done = subprocess.run(["sh", "-ec", next_steps], capture_output=True, text=True, check=False)
        assert "kube-system" in done.stdout, done.stderr
        assert kubeconfig.stat().st_mode & 0o077 == 0
        process.send_signal(ending)
        rest, errors = process.communicate()
    assert (process.returncode, rest, errors) == (0, "The control plane has stopped.\n", "")
    assert not kubeconfig.exists()
    assert (tmp_path / "logs" / "kube-controller-manager.log").exists()


@pytest.mark.parametrize("content", ["apiVersion: v1\nclusters:\n- name: production\n", "notes", "{", "a: [1]"])
def test_start_does_not_replace_another_file(tmp_path: Path, content: str, run_here: Run) -> None:
    (tmp_path / "config").write_text(content)
    code, output, errors = run_here("start", "--write-kubeconfig", str(tmp_path / "config"))
    assert (code, output) == (1, "")
    assert (
        errors == f"Error: {tmp_path / 'config'} is not a kubeconfig of an earlier cluster, so it is not replaced;"
        " name another file\n"
    )
    assert (tmp_path / "config").read_text() == content


def test_start_rejects_a_file_in_a_missing_folder(tmp_path: Path, run_here: Run) -> None:
    code, _, errors = run_here("start", "--write-kubeconfig", str(tmp_path / "absent" / "config"))
    assert (code, len(errors.splitlines())) == (2, 1)
    assert "does not exist" in errors


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a folder that even root cannot write to")
def test_a_read_only_folder_is_a_failure(run_here: Run) -> None:
    code, _, errors = run_here("start", "--write-kubeconfig", "/sys/kernel/kubeconfig")
    assert (code, len(errors.splitlines())) == (1, 1)
    assert errors.startswith("Error: /sys/kernel/kubeconfig cannot be written: ")
