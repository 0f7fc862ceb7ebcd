"""Confirmation before something is deleted."""

from __future__ import annotations

import click

__all__ = ["confirm"]


def confirm(question: str) -> None:
    """Asks on standard error. A "no", a missing answer or Ctrl-C ends the command before anything is deleted."""
    try:
        if click.confirm(question, err=True):
            return
        click.echo("Nothing was deleted.", err=True)
    except click.Abort:  # the question does not end its line
        click.echo("\nNothing was deleted. Use --yes where there is no terminal to answer on.", err=True)
    raise click.Abort
