"""`kubewright undeploy`: delete everything that `deploy` created."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._confirming import confirm
from kubewright.cli.common._connecting import cluster_options, connected, removal_options, server_of
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._project_options import namespace_option
from kubewright.cli.common._targets import load_project, targets_argument, targets_or_current_project

if TYPE_CHECKING:
    from kubewright.client import Client

__all__ = ["command"]


@click.command("undeploy", cls=ProjectCommand)
@targets_argument
@cluster_options
@namespace_option
@removal_options
@output_option
def command(
    targets: Sequence[str],
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
    timeout: float,
    yes: bool,
    output: Output,
) -> None:
    """Delete everything that `kubewright deploy` created, including the definitions and all their objects.

    The definitions are deleted first, while the operator still runs and can finalize their objects. Objects that do not
    exist are skipped.

    \b
    Example:
      kubewright undeploy --yes
    """
    from kubewright.deployment import StillThere, undeploy

    project = load_project(targets_or_current_project(targets), namespace=namespace)
    if not yes:
        where = f"{project.namespace} of {server_of(kubeconfig, context)}"
        confirm(f"Delete {project.name} from {where}, and all objects of its kinds?")

    async def work(client: Client) -> None:
        with output.waiting(f"Removing {project.name}"):
            await undeploy(client, project, output.step, timeout=timeout)

    try:
        connected(kubeconfig, context, work)
    except StillThere as error:
        raise click.ClickException(str(error)) from error
    output.document(namespace=project.namespace, steps=output.steps)
