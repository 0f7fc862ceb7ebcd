"""`kubewright create api` and `kubewright create webhook`: more for the project."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from kubewright.cli.common._completing import groups, kinds, owned, versions
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand, this_project
from kubewright.cli.project._plans import carried_out, tell
from kubewright.scaffold import ScaffoldError, new_api, new_webhook

__all__ = ["command"]

_EXAMPLE: Final = {"--group": "webapp", "--version": "v1", "--kind": "Guestbook"}


@click.group("create")
def command() -> None:
    """Add a kind, or webhooks of one, to the project.

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
        # Not `required`, since click then names the first that is missing, and not the others.
        wrapped = click.option(flag, help=f"{help_}  [required]", shell_complete=offered)(wrapped)
    return wrapped


def _named(
    command: str, group: str | None, version: str | None, kind: str | None, further: str = ""
) -> tuple[str, str, str]:
    """The three names of a kind; those that are missing are told together, with a command that has all."""
    if not (group is None or version is None or kind is None or further):
        return group, version, kind
    given = {"--group": group, "--version": version, "--kind": kind}
    missing = [flag for flag, value in given.items() if value is None] + ([further] if further else [])
    whole = [f"{flag} {shlex.quote(given[flag] or usual)}" for flag, usual in _EXAMPLE.items()]
    example = " ".join(["kubewright create", command, *whole, *(["--defaulting"] if command == "webhook" else [])])
    raise click.UsageError(f"missing: {', '.join(missing)}. For example: {example}")


@command.command("api", cls=ProjectCommand)
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
    group: str | None,
    version: str | None,
    kind: str | None,
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
    group, version, kind = _named("api", group, version, kind)
    folder = this_project()
    try:
        plan = new_api(
            folder, group=group, version=version, kind=kind, namespaced=namespaced, controller=controller, owns=owns
        )
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    done = carried_out(plan, folder, force=force)
    tell(done, folder, output, f"give {kind}Spec its fields, and run `make manifests test`.")


@command.command("webhook", cls=ProjectCommand)
@_kind
@click.option("--defaulting", is_flag=True, help="Fill in what is missing.")
@click.option("--programmatic-validation", "validation", is_flag=True, help="Check objects by code.")
@click.option("--conversion", is_flag=True, help="Convert objects between the versions of the kind.")
@click.option("--force", is_flag=True, help="Overwrite files that are in the way.")
@output_option
def webhook(
    group: str | None,
    version: str | None,
    kind: str | None,
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
    what = "" if defaulting or validation or conversion else "--defaulting, --programmatic-validation or --conversion"
    group, version, kind = _named("webhook", group, version, kind, what)
    folder = this_project()
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
