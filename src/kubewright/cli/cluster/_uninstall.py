"""`kubewright uninstall`: delete CustomResourceDefinitions from a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._confirming import confirm
from kubewright.cli.common._connecting import cluster_options, connected, removal_options, server_of
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import load_program, targets_argument, targets_or_current_project

if TYPE_CHECKING:
    from kubewright.client import Client

__all__ = ["command"]


@click.command("uninstall", cls=ProjectCommand)
@targets_argument
@cluster_options
@removal_options
@output_option
def command(
    targets: Sequence[str], kubeconfig: str | None, context: str | None, timeout: float, yes: bool, output: Output
) -> None:
    """Delete the CustomResourceDefinitions of a program, and with them all objects of these kinds.

    Definitions that do not exist are skipped. Objects with finalizers stay until their operator has finalized them.

    \b
    Example:
      kubewright uninstall --yes
    """
    from kubewright.crd import crds_of
    from kubewright.deployment import StillThere, uninstall

    definitions = crds_of(*load_program(targets_or_current_project(targets)).kinds, descriptions=False)
    if not definitions:
        output.line("The program has no kinds of its own: there is nothing to remove.")
        output.document(steps=output.steps)
        return
    names = ", ".join(definition.metadata.name or "" for definition in definitions)
    if not yes:
        confirm(f"Delete {names}, and all objects of these kinds, from {server_of(kubeconfig, context)}?")

    async def work(client: Client) -> None:
        with output.waiting("Waiting until the definitions and all their objects are deleted"):
            await uninstall(client, definitions, output.step, timeout=timeout)

    try:
        connected(kubeconfig, context, work)
    except StillThere as error:
        raise click.ClickException(str(error)) from error
    output.document(steps=output.steps)
