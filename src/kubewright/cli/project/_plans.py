"""Writes planned files, for the commands that change a project."""

from __future__ import annotations

from pathlib import Path

import click

from kubewright.cli.common._output import Output
from kubewright.counts import counted
from kubewright.scaffold import Done, Plan, ScaffoldError, carry_out

__all__ = ["print_result", "write_plan"]


def write_plan(plan: Plan, folder: Path, *, force: bool) -> Done:
    """Writes a plan. A file that is in the way fails the command."""
    try:
        return carry_out(plan, folder, force=force)
    except ScaffoldError as error:
        raise click.ClickException(str(error)) from error


def print_result(done: Done, folder: Path, output: Output, following: str) -> None:
    """Prints which files were written, and the next step."""
    shown = Path() if folder.resolve() == Path.cwd() else folder
    for path in done.written:
        output.line(f"wrote {shown / path}")
    for path in done.changed:
        output.line(f"changed {shown / path}")
    if not (done.written or done.changed):
        output.line(f"Nothing to do: {counted(len(done.unchanged), 'file exists', 'files exist')} already.")
    output.line(f"Next: {following}")
    output.document(folder=str(folder), written=done.written, changed=done.changed, unchanged=done.unchanged)
