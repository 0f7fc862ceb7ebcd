"""Which container tool this machine has, and whether it works."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from kubewright.development._images import TOOLS, BuildError, Command, Tool
from kubewright.durations import format_duration

__all__ = ["find_tool", "has_buildx", "run_commands", "tool_to_show"]

_ASK_SECONDS: Final = 30.0


def find_tool(wanted: Tool | None = None) -> Tool:
    """The tool that is wanted, or the first that is there and works. Raises `BuildError` when there is none.

    docker alone needs an engine that runs: without one, it is there and cannot be used.
    """
    there = [tool for tool in TOOLS if shutil.which(tool)]
    if wanted is not None and wanted not in there:
        others = f"; there is {' and '.join(there)}" if there else ""
        raise BuildError(f"{wanted} is not on this machine{others}")
    if not there:
        raise BuildError("there is no tool that builds images on this machine: install docker, podman or buildah")
    problem = ""
    for tool in [wanted] if wanted else there:
        if tool != "docker" or not (problem := _docker_problem()):
            return tool
    raise BuildError(
        f"docker is on this machine, but its engine does not answer ({problem}): start it, or install podman or "
        "buildah, which need none"
    )


def tool_to_show(wanted: Tool | None = None) -> Tool:
    """Returns the tool whose commands are printed and not run, which may be one that this machine does not have.

    That is the wanted one, else the one that `find_tool` would take, else the first that is installed, else docker.
    """
    if wanted is not None:
        return wanted
    try:
        return find_tool()
    except BuildError:
        return next((tool for tool in TOOLS if shutil.which(tool)), TOOLS[0])


def _docker_problem() -> str:
    """What docker says when it cannot work; nothing when it can."""
    answer = _asked(["docker", "version", "--format", "{{.Server.Version}}"])
    if answer is None:
        return f"no answer within {format_duration(_ASK_SECONDS)}"
    if answer.returncode == 0:
        return ""
    said = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    return said[-1].rstrip(".") if said else f"it ends with {answer.returncode}"


def has_buildx() -> bool:
    """Whether docker can build for several platforms."""
    answer = _asked(["docker", "buildx", "version"])
    return answer is not None and answer.returncode == 0


def run_commands(commands: Sequence[Command], *, quiet: bool = False) -> None:
    """Run them, and let their output be seen; on standard error when it is to be `quiet`. The first failure raises."""
    for command in commands:
        if command.unless and _succeeds(command.unless):
            continue
        if command.only_if and not _succeeds(command.only_if):
            continue
        code = subprocess.run(command.line, check=False, stdout=sys.stderr if quiet else None).returncode
        if code != 0:
            raise BuildError(f"{' '.join(command.line[:2])} ended with {code}; what it says is above")


def _succeeds(line: Sequence[str]) -> bool:
    answer = _asked(line)
    return answer is not None and answer.returncode == 0


def _asked(line: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ASK_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return None
