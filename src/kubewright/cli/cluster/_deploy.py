"""`kubewright deploy`: a program's operator, with all that it needs, into a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._connecting import cluster_options, connected
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import project_from, targets_argument, targets_or_project

if TYPE_CHECKING:
    from kubewright.client import Client

__all__ = ["command"]


@click.command("deploy", cls=ProjectCommand)
@targets_argument
@cluster_options
@click.option("--image", metavar="IMAGE", help="The operator's image; as the last build was told unless given.")
@click.option("--namespace", metavar="NAME", help="Where it runs; <operator>-system unless given.")
@output_option
def command(
    targets: Sequence[str],
    kubeconfig: str | None,
    context: str | None,
    image: str | None,
    namespace: str | None,
    output: Output,
) -> None:
    """Run a program's operator in the cluster: definitions, roles, Deployment, and webhooks if it has any.

    The image must be where the nodes find it. They ask the registry only for images that they do not have, so an image
    that was loaded into them (`kind load docker-image`) is used as it is. To deploy again changes what is different.

    \b
    Example:
      kubewright deploy --image registry.example.com/guestbook:1.0.0
    """
    from kubewright.crd import InstallError, check_rules
    from kubewright.deployment import NOTHING_RUNS, NameTaken, NotServed, deploy, runs_no_programs

    project = project_from(targets_or_project(targets), image=image, namespace=namespace)
    check_rules(*(project.kinds or ()))

    async def work(client: Client) -> bool:
        with output.waiting(f"Deploying {project.name}"):
            await deploy(client, project, output.step)
            return project.serves_webhooks and await runs_no_programs(client)

    try:
        unreachable = connected(kubeconfig, context, work)
    except (InstallError, NameTaken, NotServed) as error:
        raise click.ClickException(str(error)) from error
    if unreachable:
        click.echo(
            "Warning: nothing listens where the API server calls the webhooks: the pods of this cluster run no program,"
            f" so creates and updates of the kinds fail; {NOTHING_RUNS}.",
            err=True,
        )
    output.line(f"Deployed. See: kubectl --namespace {project.namespace} get pods")
    output.document(namespace=project.namespace, image=project.image, steps=output.steps)
