"""Commands that read files which others wrote: hostile definitions and kubeconfigs.

Each command is a process that ends, and shares nothing with another one. Therefore `COPIES` does not apply: many at the
same time would only show how busy the machine is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.attacks.payloads import DEEP_YAML, alias_bomb
from tests.patience import PATIENCE

MIB = 2**20
USUAL = 200 * MIB
"""What a command needs for imports and ordinary files, generously."""
CPU_SECONDS = 20


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    output: str
    memory: int


# A small process of its own: the kernel counts the memory of the process that starts a command as the command's.
LAUNCHER = """
import json, os, resource, subprocess, sys, tempfile

space, seconds, *command = sys.argv[1:]

def limit():
    resource.setrlimit(resource.RLIMIT_AS, (int(space), int(space)))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

with tempfile.TemporaryFile() as file:
    process = subprocess.Popen(command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, preexec_fn=limit)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    file.seek(0)
    output = file.read().decode(errors="replace")
json.dump([process.returncode, output, usage.ru_maxrss * 1024], sys.stdout)
"""


def run(*arguments: str | os.PathLike[str]) -> Ended:
    """Runs `kubewright` with bounded memory and CPU time."""
    command = [str(2048 * MIB), str(CPU_SECONDS), sys.executable, "-m", "kubewright", *arguments]
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LAUNCHER, *command], stdout=subprocess.PIPE, check=True, timeout=PATIENCE
    )
    return Ended(*json.loads(ended.stdout))


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
