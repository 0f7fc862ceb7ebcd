"""`kubewright create api` and `kubewright create webhook`: add a kind or webhooks to the project."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from kubewright.cli.common._completing import groups, kinds, owned, versions
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand, require_project
from kubewright.cli.project._plans import print_result, write_plan
from kubewright.scaffold import ScaffoldError, new_api, new_webhook

__all__ = ["command"]

_EXAMPLE: Final = {"--group": "webapp", "--version": "v1", "--kind": "Guestbook"}


@click.group("create")
def command() -> None:
    """Add a kind or webhooks to the project.

    \b
    Example:
      kubewright create api --group webapp --version v1 --kind Guestbook
      kubewright create webhook --group webapp --version v1 --kind Guestbook --defaulting
    """


def _kind(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    for flag, help_, offered in (
        ("--kind", "The kind, in CamelCase.", kinds),
        ("--version", "The API version, such as v1alpha1.", versions),
        ("--group", "The API group, without the project's domain.", groups),
    ):
        # Not `required`: click would report only the first missing option.
        wrapped = click.option(flag, help=f"{help_}  [required]", shell_complete=offered)(wrapped)
    return wrapped


def _named(
    command: str, group: str | None, version: str | None, kind: str | None, further: str = ""
) -> tuple[str, str, str]:
    """Returns group, version and kind. Reports all missing options together, with a complete example."""
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
    "--namespaced/--cluster",
    default=True,
    help="Whether the kind is namespaced or cluster-scoped.  [default: namespaced]",
)
@click.option("--resource/--no-resource", default=True, help="Whether to write the class and its sample.")
@click.option("--controller/--no-controller", default=True, help="Whether to write a reconciler.")
@click.option(
    "--owns",
    multiple=True,
    metavar="KIND",
    shell_complete=owned,
    help="A kind that the reconciler creates. May be repeated.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
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
    """Add a kind: its class, its reconciler, its tests and a sample.

    If the project already has the kind, this adds a version.

    \b
    Example:
      kubewright create api --group webapp --version v1 --kind Guestbook --owns Deployment --owns Service
    """
    if not resource:
        raise click.UsageError(
            "--no-resource: a reconciler for a built-in kind needs no scaffold. Register it in a module of your own:"
            " @operator.reconciles(apps.Deployment), and import that module in the package's __init__.py"
        )
    group, version, kind = _named("api", group, version, kind)
    folder = require_project()
    try:
        plan = new_api(
            folder, group=group, version=version, kind=kind, namespaced=namespaced, controller=controller, owns=owns
        )
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    done = write_plan(plan, folder, force=force)
    print_result(done, folder, output, f"add fields to {kind}Spec, then run `make manifests test`.")


@command.command("webhook", cls=ProjectCommand)
@_kind
@click.option("--defaulting", is_flag=True, help="Set default values.")
@click.option("--programmatic-validation", "validation", is_flag=True, help="Validate objects by code.")
@click.option("--conversion", is_flag=True, help="Convert objects between the versions of the kind.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
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
    """Add webhooks to a kind. The API server then calls the operator before it stores an object.

    \b
    Example:
      kubewright create webhook --group webapp --version v1 --kind Guestbook --defaulting --programmatic-validation
    """
    what = "" if defaulting or validation or conversion else "--defaulting, --programmatic-validation or --conversion"
    group, version, kind = _named("webhook", group, version, kind, what)
    folder = require_project()
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
    done = write_plan(plan, folder, force=force)
    print_result(done, folder, output, "write the defaults and rules there, then run `make manifests test`.")
