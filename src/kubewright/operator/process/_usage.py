"""The output of `python foo.py --help` for a program without its own flags."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kubewright.operator.definition import OperatorDefinition
from kubewright.operator.settings import SETTINGS

__all__ = ["asks_for_help", "usage"]


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Returns whether the arguments ask for help. A program with its own flags handles them earlier."""
    return bool({"-h", "--help"} & {*arguments[1:]})


def usage(operator: OperatorDefinition, program: str) -> str:
    """Returns how to run the program of an operator, and its settings."""
    name = Path(program).name
    width = max(len(setting.variable) for setting in SETTINGS.values())
    settings = "\n".join(f"  {setting.variable:<{width}}  {setting.help}" for setting in SETTINGS.values())
    return (
        f"Usage: {Path(sys.executable).name} {name}\n\n"
        f"Runs the operator {operator.name} until SIGTERM or SIGINT. It takes no flags: `kubewright run {name}` does,\n"
        f"and its --help has them. Settings are also environment variables:\n\n{settings}\n"
    )
