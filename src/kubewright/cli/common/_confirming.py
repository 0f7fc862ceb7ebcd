"""Asking before something is removed."""

from __future__ import annotations

import click

__all__ = ["confirm"]


def confirm(question: str) -> None:
    """Ask, on standard error. No, no answer and Ctrl-C end the command, which says that nothing was removed."""
    try:
        if click.confirm(question, err=True):
            return
        click.echo("Nothing was removed.", err=True)
    except click.Abort:  # the question has no end of line yet
        click.echo("\nNothing was removed. Where nobody can answer, say --yes.", err=True)
    raise click.Abort
