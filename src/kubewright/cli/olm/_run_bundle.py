"""`kubewright run-bundle`: install a bundle with the Operator Lifecycle Manager, or delete it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._confirming import confirm
from kubewright.cli.common._connecting import cluster_options, connected, server_of, timeout_option, yes_option
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand

if TYPE_CHECKING:
    from kubewright.client import Client
    from kubewright.olm import Installation

__all__ = ["command"]

_MODES = ("AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace")


@click.command("run-bundle", cls=ProjectCommand)
@click.argument("bundle", metavar="[BUNDLE]", default="bundle")
@cluster_options
@click.option("--namespace", metavar="NAME", help="The namespace of the operator. Default: <package>-system.")
@click.option("--channel", metavar="NAME", help="The channel to subscribe to. Default: the bundle's default channel.")
@click.option(
    "--install-mode", type=click.Choice(_MODES), help="The install mode. Default: the widest that the bundle supports."
)
@click.option(
    "--watch-namespace",
    "targets",
    metavar="NAME",
    multiple=True,
    help="A namespace that the operator watches. May be repeated.",
)
@click.option("--index-image", metavar="IMAGE", help="The image of a catalog that contains the bundle.")
@click.option(
    "--opm-image", metavar="IMAGE", help="The image of opm, which serves the embedded catalog, from your registry."
)
@timeout_option(300.0, "the bundle is installed or deleted")
@click.option("--remove", "removing", is_flag=True, help="Delete what this command created, including the definitions.")
@click.option("--keep-definitions", is_flag=True, help="With --remove: keep the definitions and their objects.")
@yes_option
@output_option
def command(
    bundle: str,
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
    channel: str | None,
    install_mode: str | None,
    targets: Sequence[str],
    index_image: str | None,
    opm_image: str | None,
    timeout: float,
    removing: bool,
    keep_definitions: bool,
    yes: bool,
    output: Output,
) -> None:
    """Install a bundle with the Operator Lifecycle Manager (OLM), and wait until its operator runs.

    BUNDLE is a folder, or an image that docker or podman can pull. The command creates a catalog with this bundle only,
    an OperatorGroup and a Subscription. The catalog embeds the bundle, so the bundle needs no image; the operator does.
    With --index-image, the catalog is that image.

    \b
    Example:
      kubewright run-bundle
      kubewright run-bundle bundle --install-mode OwnNamespace --namespace guestbook
      kubewright run-bundle bundle --remove --yes
    """
    from kubewright.deployment import StillThere
    from kubewright.olm import NotInstalled, remove, run

    if keep_definitions and not removing:
        raise click.UsageError("--keep-definitions requires --remove")
    wanted = _installation(bundle, namespace, channel, install_mode, targets, index_image, opm_image)
    if removing and not yes:
        what = "" if keep_definitions else ", and all objects of its kinds"
        confirm(f"Delete {wanted.package} from {wanted.namespace} of {server_of(kubeconfig, context)}{what}?")

    async def work(client: Client) -> None:
        title = f"{'Removing' if removing else 'Installing'} {wanted.bundle.name}"
        with output.waiting(title):
            if removing:
                await remove(client, wanted, output.step, definitions=not keep_definitions, timeout=timeout)
            else:
                await run(client, wanted, output.step, timeout=timeout)

    try:
        connected(kubeconfig, context, work)
    except (NotInstalled, StillThere) as error:
        raise click.ClickException(str(error)) from error
    output.line(f"{'Removed' if removing else 'Installed'} {wanted.bundle.name}.")
    output.document(bundle=wanted.bundle.name, namespace=wanted.namespace, steps=output.steps)


def _installation(
    bundle: str,
    namespace: str | None,
    channel: str | None,
    install_mode: str | None,
    targets: Sequence[str],
    index_image: str | None,
    opm_image: str | None,
) -> Installation:
    from kubewright.olm import Bundle, BundleError, Installation, PullError, pull_bundle, validate

    try:
        found = Bundle.read(Path(bundle)) if Path(bundle).is_dir() else pull_bundle(bundle)
        report = validate(found)
        if not report.ok:
            raise BundleError(f"{bundle} is not a valid bundle: {report.errors[0]}")
        given = {"opm_image": opm_image} if opm_image else {}
        return Installation(
            bundle=found,
            namespace=namespace or f"{found.package}-system",
            channel=channel or "",
            install_mode=install_mode or "",
            targets=tuple(targets),
            index_image=index_image or "",
            **given,
        )
    except PullError as error:
        raise click.ClickException(str(error)) from error
    except BundleError as error:
        raise WrongUse(str(error)) from error
