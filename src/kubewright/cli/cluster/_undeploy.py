"""`kubewright undeploy`: all that `deploy` has made, out of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._confirming import confirm
from kubewright.cli.common._connecting import cluster_options, connected, removal_options, server_of
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import project_from, targets_argument, targets_or_project

if TYPE_CHECKING:
    from kubewright.client import Client

__all__ = ["command"]


@click.command("undeploy", cls=ProjectCommand)
@targets_argument
@cluster_options
@click.option("--namespace", metavar="NAME", help="Where it runs; <operator>-system unless given.")
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
    """Remove all that `kubewright deploy` has made, the definitions and all objects of their kinds included.

    The definitions go first, while the operator is still there to clean up. What is not there is no error.

    \b
    Example:
      kubewright undeploy --yes
    """
    from kubewright.deployment import StillThere, undeploy

    project = project_from(targets_or_project(targets), namespace=namespace)
    if not yes:
        where = f"{project.namespace} of {server_of(kubeconfig, context)}"
        confirm(f"Remove {project.name} from {where}, and all objects of its kinds?")

    async def work(client: Client) -> None:
        with output.waiting(f"Removing {project.name}"):
            await undeploy(client, project, output.step, timeout=timeout)

    try:
        connected(kubeconfig, context, work)
    except StillThere as error:
        raise click.ClickException(str(error)) from error
    output.document(namespace=project.namespace, steps=output.steps)
