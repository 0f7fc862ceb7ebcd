"""Finds a working container tool on this machine."""

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
    """Returns the requested tool, or the first that is installed and works. Raises `BuildError` if there is none.

    Only docker needs a running engine.
    """
    there = [tool for tool in TOOLS if shutil.which(tool)]
    if wanted is not None and wanted not in there:
        others = f"; installed: {' and '.join(there)}" if there else ""
        raise BuildError(f"{wanted} is not installed{others}")
    if not there:
        raise BuildError("no tool to build images is installed: install docker, podman or buildah")
    problem = ""
    for tool in [wanted] if wanted else there:
        if tool != "docker" or not (problem := _docker_problem()):
            return tool
    raise BuildError(
        f"docker is installed, but its engine does not answer ({problem}): start it, or install podman or buildah,"
        " which need none"
    )


def tool_to_show(wanted: Tool | None = None) -> Tool:
    """Returns the tool for printing commands, which need not be installed.

    This is the requested tool, else the one that `find_tool` returns, else the first that is installed, else docker.
    """
    if wanted is not None:
        return wanted
    try:
        return find_tool()
    except BuildError:
        return next((tool for tool in TOOLS if shutil.which(tool)), TOOLS[0])


def _docker_problem() -> str:
    """Returns the reason why docker does not work; an empty string if it does."""
    answer = _asked(["docker", "version", "--format", "{{.Server.Version}}"])
    if answer is None:
        return f"no answer within {format_duration(_ASK_SECONDS)}"
    if answer.returncode == 0:
        return ""
    said = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    return said[-1].rstrip(".") if said else f"exit code {answer.returncode}"


def has_buildx() -> bool:
    """Whether docker can build for several platforms."""
    answer = _asked(["docker", "buildx", "version"])
    return answer is not None and answer.returncode == 0


def run_commands(commands: Sequence[Command], *, quiet: bool = False) -> None:
    """Runs the commands with visible output, on standard error if `quiet`. Raises `BuildError` at the first failure."""
    for command in commands:
        if command.unless and _succeeds(command.unless):
            continue
        if command.only_if and not _succeeds(command.only_if):
            continue
        code = subprocess.run(command.line, check=False, stdout=sys.stderr if quiet else None).returncode
        if code != 0:
            raise BuildError(f"{' '.join(command.line[:2])} ended with {code}; see its output above")


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
