"""What `python foo.py --help` says, where the program itself takes no flags."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kubewright.operator.settings import SETTINGS

if TYPE_CHECKING:
    from kubewright.operator._operator import Operator

__all__ = ["asks_for_help", "usage"]


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether somebody asked for help, and nobody has answered: a program with flags of its own does so before."""
    return bool({"-h", "--help"} & {*arguments[1:]})


def usage(operator: Operator, program: str) -> str:
    """How the program of an operator is run, and what can be set."""
    name = Path(program).name
    width = max(len(setting.variable) for setting in SETTINGS.values())
    settings = "\n".join(f"  {setting.variable:<{width}}  {setting.help}" for setting in SETTINGS.values())
    return (
        f"Usage: {Path(sys.executable).name} {name}\n\n"
        f"Runs the operator {operator.name} until SIGTERM or SIGINT. It takes no flags: `kubewright run {name}` does,\n"
        f"and its --help has them. Settings are also environment variables:\n\n{settings}\n"
    )
