"""`make demo`: an operator and a cluster in one process, without any binaries."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from kubewright.client import BlockingClient
from tests.patience import PATIENCE

DEMO = Path(__file__).parents[3] / "examples" / "foo" / "demo.py"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with Python only: no kubectl, no Go, no cached binaries, no kubeconfig."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEMO), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.promise(
    "The embedded cluster",
    "`make demo` needs no binaries, and exits with 0 only if the sample becomes ready.",
)
@pytest.mark.usefixtures("bare")
def test_once_succeeds_when_the_sample_is_ready() -> None:
    ended = run("--once")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert [line for line in lines if "Foo " in line][-2:-1] == [
        "  Foo         example-foo                      1 of 1 replicas available"
    ]
    assert lines[-1].startswith("▸ The Foo is ready")
    assert any(line.endswith("Running on node-1, ready") for line in lines)
    assert "\033" not in ended.stdout  # no colors without a terminal


@pytest.mark.promise(
    "The embedded cluster",
    "`make demo` needs no binaries, and exits with 0 only if the sample becomes ready.",
)
@pytest.mark.usefixtures("bare")
def test_once_fails_after_timeout() -> None:
    ended = run("--once", "--patience", "0")
    assert (ended.returncode, ended.stderr) == (1, "The Foo was not ready within 0 seconds.\n")


def test_runs_until_stopped_and_prints_access() -> None:
    with subprocess.Popen([sys.executable, str(DEMO)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            kubeconfig = page = None
            for line in process.stdout:
                if found := re.search(r"http://127.0.0.1:\S+", line):
                    page = found[0]
                if found := re.search(r"export KUBECONFIG=(.*)", line):
                    kubeconfig = found[1]
                if line.startswith("Ctrl-C"):
                    break
            assert kubeconfig is not None
            with BlockingClient.connect(kubeconfig=kubeconfig, namespace="default") as client:
                foo = client.get(client.kind("example.com/v1alpha1", "Foo"), "example-foo")
                assert foo["status"] == {"availableReplicas": 1}
            assert page is not None
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with browser.open(page, timeout=PATIENCE) as answer:
                assert "<title>Kinds · Kubewright</title>" in answer.read().decode()
            process.send_signal(signal.SIGINT)
            assert process.stdout.read().endswith("▸ Stopped\n")
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
