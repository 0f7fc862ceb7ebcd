"""`kubewright explain`: the cause and the fix of an error."""

from __future__ import annotations

from dataclasses import asdict

import click

from kubewright.catalog import Entry, catalog, find_entries
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.suggestions import nearest

__all__ = ["command"]


@click.command("explain")
@click.argument("error", required=False)
@output_option
def command(error: str | None, output: Output) -> None:
    """Explain an error by its code or class name. Without an argument, list all errors.

    \b
    Example:
      kubewright explain KW301
      kubewright explain NotOwned
    """
    found = find_entries(error) if error else [*catalog().values()]
    if not found:
        names = [name for entry in catalog().values() for name in (entry.code, entry.name)]
        meant = nearest(error or "", names)
        hint = f"Did you mean {meant!r}?" if meant else "`kubewright explain` lists all errors."
        raise WrongUse(f"the catalog has no error {error!r}. {hint}")
    if error:
        output.line("\n\n".join(map(_described, found)))
    else:
        output.line("\n".join(f"{entry.code}  {entry.error}" for entry in found))
    output.document(errors=[asdict(entry) for entry in found])


def _described(entry: Entry) -> str:
    wrap = click.formatting.wrap_text
    return "\n".join(
        (
            f"{entry.code}  {entry.error}",
            "",
            wrap(f"Cause: {entry.cause}", 100, subsequent_indent="  "),
            wrap(f"Fix: {entry.fix}", 100, subsequent_indent="  "),
            f"More: kubewright docs {entry.page}",
        )
    )
