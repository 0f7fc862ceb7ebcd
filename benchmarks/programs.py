"""The programs under test: their names, versions and command lines."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

__all__ = ["CONTROLLER_RUNTIME", "OURS", "ROOT", "Program", "in_turn", "list_programs", "operator_programs"]

ROOT = Path(__file__).resolve().parent.parent
OURS = "kubewright"
CONTROLLER_RUNTIME = "controller-runtime"

_GO_SOURCE = ROOT / "benchmarks" / "peers" / "controller_runtime"
_GO_PROGRAM = ROOT / "build" / "benchmarks" / "controller-runtime-peer"
_LIBRARIES = (OURS, "kubernetes", "kubernetes_asyncio", "lightkube", "kr8s")


@dataclass(frozen=True)
class Program:
    """A program that can be started."""

    name: str
    version: str
    command: tuple[str, ...]


def in_turn(programs: list[Program], turn: int) -> list[Program]:
    """The programs in the order of that round: each begins once, so that none always follows the same one."""
    first = turn % len(programs)
    return programs[first:] + programs[:first]


def list_programs() -> list[Program]:
    """The clients, ours first."""
    return [_python(name, f"{name}_list") for name in _LIBRARIES]


def operator_programs() -> list[Program]:
    """The operators, ours first. Builds the one in Go."""
    return [_python(OURS, "kubewright_operator"), _build_go(), _python("kopf", "kopf_operator")]


def _python(name: str, module: str) -> Program:
    return Program(name, version(name), (sys.executable, "-m", f"benchmarks.peers.{module}"))


def _build_go() -> Program:
    from kubewright.testing.binaries import find_go

    go = find_go()
    _GO_PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [go.executable, "build", "-trimpath", "-mod=readonly", "-o", _GO_PROGRAM, "."],
        cwd=_GO_SOURCE,
        env=go.environment(),
        check=True,
    )
    return Program(CONTROLLER_RUNTIME, _go_requirement("sigs.k8s.io/controller-runtime"), (str(_GO_PROGRAM),))


def _go_requirement(module: str) -> str:
    for line in (_GO_SOURCE / "go.mod").read_text().splitlines():
        words = line.split()
        if words[:1] == [module]:
            return words[1].removeprefix("v")
    raise ValueError(f"go.mod does not require {module}")
