"""`kubewright create api` and `kubewright create webhook`: more for the project in this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from kubewright.cli._completing import groups, kinds, owned, versions
from kubewright.cli._exit_codes import WrongUse
from kubewright.cli._output import Output, output_option
from kubewright.cli._scaffolding import carried_out, tell
from kubewright.scaffold import ScaffoldError, new_api, new_webhook

__all__ = ["command"]


@click.group("create")
def command() -> None:
    """Add a kind, or webhooks of one, to the project in this folder.

    \b
    Example:
      kubewright create api --group webapp --version v1 --kind Guestbook
      kubewright create webhook --group webapp --version v1 --kind Guestbook --defaulting
    """


def _kind(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    for flag, help_, offered in (
        ("--kind", "The kind, in CamelCase.", kinds),
        ("--version", "Its version, such as v1alpha1.", versions),
        ("--group", "Its group, without the project's domain.", groups),
    ):
        wrapped = click.option(flag, required=True, help=help_, shell_complete=offered)(wrapped)
    return wrapped


@command.command("api")
@_kind
@click.option(
    "--namespaced/--cluster", default=True, help="Whether its objects live in namespaces.  [default: they do]"
)
@click.option("--resource/--no-resource", default=True, help="Whether the class and its sample are written.")
@click.option("--controller/--no-controller", default=True, help="Whether it gets a reconciler.")
@click.option(
    "--owns",
    multiple=True,
    metavar="KIND",
    shell_complete=owned,
    help="A kind that its reconciler makes. May be repeated.",
)
@click.option("--force", is_flag=True, help="Overwrite files that are in the way.")
@output_option
def api(
    group: str,
    version: str,
    kind: str,
    namespaced: bool,
    resource: bool,
    controller: bool,
    owns: Sequence[str],
    force: bool,
    output: Output,
) -> None:
    """Add a kind: its class, its reconciler, its tests, and a sample.

    Of a kind that the project has already, this is one more version.

    \b
    Example:
      kubewright create api --group webapp --version v1 --kind Guestbook --owns Deployment --owns Service
    """
    if not resource:
        raise click.UsageError(
            "--no-resource: a reconciler of a kind that is not yours needs no scaffold. Register it in a module of your"
            " own: @operator.reconciles(apps.Deployment), and import that module in the package's __init__.py"
        )
    folder = Path.cwd()
    try:
        plan = new_api(
            folder, group=group, version=version, kind=kind, namespaced=namespaced, controller=controller, owns=owns
        )
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    done = carried_out(plan, folder, force=force)
    tell(done, folder, output, f"give {kind}Spec its fields, and run `make manifests test`.")


@command.command("webhook")
@_kind
@click.option("--defaulting", is_flag=True, help="Fill in what is missing.")
@click.option("--programmatic-validation", "validation", is_flag=True, help="Check objects by code.")
@click.option("--conversion", is_flag=True, help="Convert objects between the versions of the kind.")
@click.option("--force", is_flag=True, help="Overwrite files that are in the way.")
@output_option
def webhook(
    group: str,
    version: str,
    kind: str,
    defaulting: bool,
    validation: bool,
    conversion: bool,
    force: bool,
    output: Output,
) -> None:
    """Add webhooks to a kind: the API server then asks the operator before it stores an object.

    \b
    Example:
      kubewright create webhook --group webapp --version v1 --kind Guestbook --defaulting --programmatic-validation
    """
    folder = Path.cwd()
    try:
        plan = new_webhook(
            folder,
            group=group,
            version=version,
            kind=kind,
            defaulting=defaulting,
            validation=validation,
            conversion=conversion,
        )
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    done = carried_out(plan, folder, force=force)
    tell(done, folder, output, "say there what is filled in and what is refused, and run `make manifests test`.")
