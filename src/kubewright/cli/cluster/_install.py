"""`kubewright install`: install CustomResourceDefinitions into a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._connecting import cluster_options, connected, timeout_option
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import load_program, targets_argument, targets_or_current_project

if TYPE_CHECKING:
    from kubewright.client import Client

__all__ = ["command"]


@click.command("install", cls=ProjectCommand)
@targets_argument
@cluster_options
@timeout_option(30.0, "they are served")
@output_option
def command(
    targets: Sequence[str], kubeconfig: str | None, context: str | None, timeout: float, output: Output
) -> None:
    """Install the CustomResourceDefinitions of a program, and wait until they are served.

    FILE_OR_MODULE contains the kinds; in a project you can leave it out. Existing definitions are updated. A change
    that would break stored objects is rejected. An existing conversion webhook is kept.

    \b
    Example:
      kubewright install
      kubewright install foo.py --context staging
    """
    from kubewright.crd import InstallError, crds_of, install

    program = load_program(targets_or_current_project(targets))
    kinds = program.kinds
    if not kinds:
        raise click.ClickException("the program has no kinds of its own: there is nothing to install")

    async def work(client: Client) -> None:
        with output.waiting("Waiting until the definitions are served"):
            await install(client, *kinds, timeout=timeout)

    try:
        connected(kubeconfig, context, work)
    except (InstallError, TimeoutError) as error:
        raise click.ClickException(str(error)) from error
    for definition in crds_of(*kinds, descriptions=False):
        output.step("installed", definition.metadata.name or "")
    if program.converted:
        output.line(_conversion_warning(sorted(program.converted)))
    output.document(steps=output.steps)


def _conversion_warning(names: Sequence[str]) -> str:
    """Warns that a definition alone does not convert objects between versions."""
    return (
        f"objects of {', '.join(names)} in other versions than the stored one need the operator with its webhooks:"
        " `kubewright run --install-crds --webhook-url ...` or `kubewright deploy`"
    )
