"""`kubewright doctor`: check whether an operator will work on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._connecting import cluster_options, connected
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import load_program, targets_argument, targets_or_current_project

if TYPE_CHECKING:
    from kubewright.client import Client
    from kubewright.deployment import Finding

__all__ = ["command"]

_COLORS = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command("doctor", cls=ProjectCommand)
@targets_argument
@cluster_options
@output_option
def command(targets: Sequence[str], kubeconfig: str | None, context: str | None, output: Output) -> None:
    """Check the cluster: reachable, kinds defined, webhooks served, requests allowed.

    Exits with 1 if the operator cannot work. Warnings report conditions that may be intended.

    \b
    Example:
      kubewright doctor
      kubewright doctor foo.py --context staging --output json
    """
    from kubewright.deployment import examine

    program = load_program(targets_or_current_project(targets))

    async def work(client: Client) -> list[Finding]:
        found = []
        with output.waiting("Checking the cluster"):
            async for finding in examine(
                client, program.operators, program.kinds, converted=program.converted, projects=program.projects
            ):
                found.append(finding)
                sign = click.style(f"{finding.state:<7}", fg=_COLORS[finding.state])
                advice = f"\n        {finding.advice}" if finding.advice else ""
                output.line(f"{finding.what}{advice}", sign=sign)
        return found

    found = connected(kubeconfig, context, work)
    output.document(findings=found)
    if any(finding.state == "error" for finding in found):
        raise click.exceptions.Exit(1)
