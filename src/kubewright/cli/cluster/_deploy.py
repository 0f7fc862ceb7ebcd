"""`kubewright deploy`: deploy an operator to a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._connecting import cluster_options, connected
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._project_options import image_option, namespace_option
from kubewright.cli.common._targets import load_project, targets_argument, targets_or_current_project

if TYPE_CHECKING:
    from kubewright.client import Client

__all__ = ["command"]


@click.command("deploy", cls=ProjectCommand)
@targets_argument
@cluster_options
@image_option(default="the image of the last build")
@namespace_option
@output_option
def command(
    targets: Sequence[str],
    kubeconfig: str | None,
    context: str | None,
    image: str | None,
    namespace: str | None,
    output: Output,
) -> None:
    """Deploy the operator: definitions, roles, the Deployment, and webhooks if it has any.

    The nodes must be able to pull the image. They do not pull an image that they already have, so an image that was
    loaded into them (`kind load docker-image`) is used as it is. Deploying again changes only what differs.

    \b
    Example:
      kubewright deploy --image registry.example.com/guestbook:1.0.0
    """
    from kubewright.crd import InstallError, check_rules
    from kubewright.deployment import RUN_LOCALLY, NameTaken, NotServed, deploy, has_only_simulated_nodes

    project = load_project(targets_or_current_project(targets), image=image, namespace=namespace)
    check_rules(*(project.kinds or ()))

    async def work(client: Client) -> bool:
        with output.waiting(f"Deploying {project.name}"):
            await deploy(client, project, output.step)
            return project.serves_webhooks and await has_only_simulated_nodes(client)

    try:
        unreachable = connected(kubeconfig, context, work)
    except (InstallError, NameTaken, NotServed) as error:
        raise click.ClickException(str(error)) from error
    if unreachable:
        click.echo(
            "Warning: the webhooks cannot be reached: pods of this cluster run no program, so creates and updates"
            f" of the kinds fail; {RUN_LOCALLY}.",
            err=True,
        )
    output.line(f"Deployed. See: kubectl --namespace {project.namespace} get pods")
    output.document(namespace=project.namespace, image=project.image, steps=output.steps)
