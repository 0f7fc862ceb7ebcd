"""`kubewright install` and `kubewright uninstall`: the definitions of kinds, into a cluster and out of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubewright.cli._connecting import cluster_options, connected
from kubewright.cli._projects import OPTIONAL_TARGETS, program_of, targets_or_project

if TYPE_CHECKING:
    from kubewright.client import Client

__all__ = ["command", "uninstall"]


@click.command("install")
@click.argument("targets", metavar=OPTIONAL_TARGETS, nargs=-1)
@cluster_options
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True, metavar="SECONDS"
)
def command(targets: Sequence[str], kubeconfig: str | None, context: str | None, timeout: float) -> None:
    """Define the kinds of a program in the cluster, and wait until they are served.

    FILE_OR_MODULE has the kinds; in a project's folder it need not be named. Definitions that are there are updated;
    what would break stored objects is refused.

    \b
    Example:
      kubewright install
      kubewright install foo.py --context staging
    """
    from kubewright.crd import InstallError, crds_of, install

    kinds = program_of(targets_or_project(targets)).kinds
    if not kinds:
        raise click.ClickException("the program has no kinds of its own: there is nothing to install")

    async def work(client: Client) -> None:
        await install(client, *kinds, timeout=timeout)

    try:
        connected(kubeconfig, context, work)
    except (InstallError, TimeoutError) as error:
        raise click.ClickException(str(error)) from error
    for definition in crds_of(*kinds, descriptions=False):
        click.echo(f"installed {definition.metadata.name}")


@click.command("uninstall")
@click.argument("targets", metavar=OPTIONAL_TARGETS, nargs=-1)
@cluster_options
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True, metavar="SECONDS"
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def uninstall(targets: Sequence[str], kubeconfig: str | None, context: str | None, timeout: float, yes: bool) -> None:
    """Remove the definitions of a program's kinds from the cluster, and with them all objects of these kinds.

    What is not there is no error. Objects with finalizers wait for their operator.

    \b
    Example:
      kubewright uninstall --yes
    """
    from kubewright.crd import crds_of
    from kubewright.deployment import StillThere
    from kubewright.deployment import uninstall as remove

    definitions = crds_of(*program_of(targets_or_project(targets)).kinds, descriptions=False)
    names = ", ".join(definition.metadata.name or "" for definition in definitions)
    if not yes:
        click.confirm(f"Remove {names}, and all objects of these kinds?", abort=True, err=True)

    async def work(client: Client) -> None:
        await remove(client, definitions, lambda what, which: click.echo(f"{what} {which}"), timeout=timeout)

    try:
        connected(kubeconfig, context, work)
    except StillThere as error:
        raise click.ClickException(str(error)) from error
