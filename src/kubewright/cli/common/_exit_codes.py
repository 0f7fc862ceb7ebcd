"""The exit codes of all commands. A test compares `docs/exit-codes.md` with this table.

A command chooses its exit code by what it raises:

- `WrongUse`: invalid input, such as a name, a missing file, a program without an operator, or a kubeconfig.
  `click.UsageError` is the same, with a reference to the help text.
- `click.ClickException`: the input was valid, but the cluster, the program or the machine failed.
- `differs()`: `--check`, or a dry run of an operator, found a difference.

`kubewright run` ends with the exit code of the operator, `kubewright.operator.ExitCode`. Both agree for 0, 1 and 2.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NoReturn

import click

__all__ = ["CommandExit", "WrongUse", "differs"]


class CommandExit(IntEnum):
    """Why a command ended. Scripts and CI depend on these values."""

    DONE = 0
    """The command succeeded, or there was nothing to do."""
    FAILED = 1
    """The cluster, the program or the machine failed. One line on standard error gives the reason."""
    WRONG_USE = 2
    """The input was invalid: an option, a name, a missing file. Nothing was changed."""
    DIFFERS = 3
    """Nothing failed, but files differ from what would be written: `--check`, or a conflict for you to solve."""
    FOUND = 4
    """`kubewright explore` found a bug in the operator."""
    INTERRUPTED = 130
    """Ctrl-C, or a confirmation was not answered."""


class WrongUse(click.ClickException):
    """Invalid input. The message gives the reason and the valid values."""

    exit_code = CommandExit.WRONG_USE


def differs() -> NoReturn:
    """Ends the command because something differs. The differences were printed before."""
    raise click.exceptions.Exit(CommandExit.DIFFERS)
