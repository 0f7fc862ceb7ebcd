"""`kubewright doctor`: whether a program will work on the cluster, and what to do if not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from kubewright.cli._connecting import cluster_options, connected
from kubewright.cli._projects import OPTIONAL_TARGETS, program_of, targets_or_project

if TYPE_CHECKING:
    from kubewright.client import Client
    from kubewright.deployment import Finding

__all__ = ["command"]

_SIGNS = {"ok": click.style("ok", fg="green"), "warning": click.style("warning", fg="yellow")}
_SIGNS["error"] = click.style("error", fg="red")


@click.command("doctor")
@click.argument("targets", metavar=OPTIONAL_TARGETS, nargs=-1)
@cluster_options
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(targets: Sequence[str], kubeconfig: str | None, context: str | None, output: str) -> None:
    """Look at the cluster as a program will find it: reachable, new enough, its kinds defined, its calls allowed.

    Exits with 1 when something is in the way. Warnings are for what may be as it should.

    \b
    Example:
      kubewright doctor
      kubewright doctor foo.py --context staging --output json
    """
    from kubewright.deployment import examine

    program = program_of(targets_or_project(targets))

    async def work(client: Client) -> list[Finding]:
        found = []
        async for finding in examine(client, program.operators, program.kinds):
            found.append(finding)
            if output == "text":
                advice = f"\n        {finding.advice}" if finding.advice else ""
                click.echo(f"{_SIGNS[finding.state]:<7} {finding.what}{advice}")
        return found

    found = connected(kubeconfig, context, work)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode({"findings": found}), indent=2).decode())
    if any(finding.state == "error" for finding in found):
        raise click.exceptions.Exit(1)
