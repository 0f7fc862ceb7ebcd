"""What the commands that write a project's files have in common."""

from __future__ import annotations

from pathlib import Path

import click

from kubewright.scaffold import Done, Plan, ScaffoldError, carry_out

__all__ = ["carried_out", "tell"]


def carried_out(plan: Plan, folder: Path, *, force: bool) -> Done:
    """Write what is planned; what is in the way fails the command."""
    try:
        return carry_out(plan, folder, force=force)
    except ScaffoldError as error:
        raise click.ClickException(str(error)) from error


def tell(done: Done, folder: Path) -> None:
    """Say which files were written."""
    shown = Path() if folder.resolve() == Path.cwd() else folder
    for path in done.written:
        click.echo(f"wrote {shown / path}")
    for path in done.changed:
        click.echo(f"changed {shown / path}")
    if not (done.written or done.changed):
        click.echo(f"Nothing to do: all {len(done.unchanged)} files are there already.")
