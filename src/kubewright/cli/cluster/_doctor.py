"""`kubewright doctor`: whether a program will work on the cluster, and what to do if not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._connecting import cluster_options, connected
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import program_of, targets_argument, targets_or_project

if TYPE_CHECKING:
    from kubewright.client import Client
    from kubewright.deployment import Finding

__all__ = ["command"]

_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command("doctor", cls=ProjectCommand)
@targets_argument
@cluster_options
@output_option
def command(targets: Sequence[str], kubeconfig: str | None, context: str | None, output: Output) -> None:
    """Check the cluster for a program: reachable, its kinds defined, its webhooks served, its calls allowed.

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
        with output.waiting("Asking the cluster"):
            async for finding in examine(
                client, program.operators, program.kinds, converted=program.converted, projects=program.projects
            ):
                found.append(finding)
                sign = click.style(f"{finding.state:<7}", fg=_COLOURS[finding.state])
                advice = f"\n        {finding.advice}" if finding.advice else ""
                output.line(f"{finding.what}{advice}", sign=sign)
        return found

    found = connected(kubeconfig, context, work)
    output.document(findings=found)
    if any(finding.state == "error" for finding in found):
        raise click.exceptions.Exit(1)
