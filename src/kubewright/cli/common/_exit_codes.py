"""The exit codes of the commands: one rule for all of them. `docs/exit-codes.md` is held to this table by a test.

A command says so by what it raises. `WrongUse` is for what the user gave and cannot be: a name, a file that is not
there, a program without an operator, a kubeconfig; `click.UsageError` is the same where the help text helps.
`click.ClickException` is a failure: all of that was right, and the cluster, the program or the machine refused.
`differs()` is for `--check`.

`kubewright run` ends as the operator does: its codes are `kubewright.operator.ExitCode`, which agree up to 2.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NoReturn

import click

__all__ = ["CommandExit", "WrongUse", "differs"]


class CommandExit(IntEnum):
    """Why a command ended. Part of the interface: scripts and CI branch on them."""

    DONE = 0
    """It did what it was asked to, or found it done already."""
    FAILED = 1
    """The cluster, the program or the machine refused. One line on standard error says why."""
    WRONG_USE = 2
    """What was given cannot be: an option, a name, a file that is not there. Nothing was changed."""
    DIFFERS = 3
    """Nothing failed, and something is not as it would be written: `--check`, or a conflict that is left to you."""
    INTERRUPTED = 130
    """Ctrl-C, or no answer to a question."""


class WrongUse(click.ClickException):
    """What was given cannot be; the text says why, and what can."""

    exit_code = CommandExit.WRONG_USE


def differs() -> NoReturn:
    """End the command, since something differs. What differs was told before."""
    raise click.exceptions.Exit(CommandExit.DIFFERS)
