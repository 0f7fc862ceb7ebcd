"""Commands that read files which others wrote: hostile definitions and kubeconfigs."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.attacks.payloads import DEEP_YAML, alias_bomb

MIB = 2**20
USUAL = 200 * MIB
"""What a command needs for imports and ordinary files, generously."""
CPU_SECONDS = 20


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    output: str
    memory: int


def run(*arguments: str | os.PathLike[str], **environment: str) -> Ended:
    """Runs `kubewright` with bounded memory and CPU time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2048 * MIB, 2048 * MIB))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryFile() as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "kubewright", *arguments],
            stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, **environment}, preexec_fn=limit,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)  # the memory of this child alone; its CPU time is limited
        process.returncode = os.waitstatus_to_exitcode(status)
        file.seek(0)
        return Ended(process.returncode, file.read().decode(errors="replace"), usage.ru_maxrss * 1024)


def refused(ended: Ended) -> None:
    """Asserts that a command failed with a message, and not with a crash, a traceback or much memory."""
    assert ended.code in (1, 2), f"exit code {ended.code}: {ended.output[-2000:]}"
    assert "Traceback" not in ended.output
    assert ended.output.strip(), "the command failed without a message"
    assert len(ended.output) < 10_000
    assert ended.memory < USUAL + 64 * MIB


HOSTILE = {**DEEP_YAML, "aliases": alias_bomb(), "utf8": b"a: \xff\xfe", "digits": b"a: " + b"9" * 100_000}


@pytest.mark.parametrize("shape", HOSTILE)
def test_codegen_refuses_a_hostile_file(tmp_path: Path, shape: str) -> None:
    file = tmp_path / "definition.yaml"
    file.write_bytes(HOSTILE[shape])
    refused(run("codegen", str(file), "--out", str(tmp_path / "made.py")))


@pytest.mark.parametrize("shape", HOSTILE)
def test_kubeconfig_refuses_a_hostile_file(tmp_path: Path, shape: str) -> None:
    file = tmp_path / "config"
    file.write_bytes(HOSTILE[shape])
    refused(run("codegen", "--cluster", "--kubeconfig", str(file), "--out", str(tmp_path / "made.py")))
