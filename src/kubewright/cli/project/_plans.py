"""What the commands that write a project's files have in common."""

from __future__ import annotations

from pathlib import Path

import click

from kubewright.cli.common._output import Output
from kubewright.scaffold import Done, Plan, ScaffoldError, carry_out

__all__ = ["carried_out", "tell"]


def carried_out(plan: Plan, folder: Path, *, force: bool) -> Done:
    """Write what is planned; what is in the way fails the command."""
    try:
        return carry_out(plan, folder, force=force)
    except ScaffoldError as error:
        raise click.ClickException(str(error)) from error


def tell(done: Done, folder: Path, output: Output, following: str) -> None:
    """Say which files were written, and what comes next."""
    shown = Path() if folder.resolve() == Path.cwd() else folder
    for path in done.written:
        output.line(f"wrote {shown / path}")
    for path in done.changed:
        output.line(f"changed {shown / path}")
    if not (done.written or done.changed):
        output.line(f"Nothing to do: all {len(done.unchanged)} files are there already.")
    output.line(f"Next: {following}")
    output.document(folder=str(folder), written=done.written, changed=done.changed, unchanged=done.unchanged)
