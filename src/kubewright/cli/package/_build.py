"""`kubewright build`: build the image of an operator."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._project_options import image_option
from kubewright.cli.common._targets import load_project, targets_argument, targets_or_current_project
from kubewright.development import (
    TOOLS,
    Build,
    BuildError,
    Command,
    Tool,
    commands,
    find_containerfile,
    find_tool,
    has_buildx,
    run_commands,
    tool_to_show,
)
from kubewright.manifests import Image
from kubewright.scaffold import RECORD, Plan, Record, ScaffoldError, carry_out

__all__ = ["command"]


@click.command("build", cls=ProjectCommand)
@targets_argument
@image_option("The image's name", "the name of the last build, or <operator>:<version>")
@click.option(
    "--tool", type=click.Choice(TOOLS), help="The tool to build with. Default: the first one that is installed."
)
@click.option(
    "--platform",
    "platforms",
    metavar="PLATFORM[,...]",
    help="The platforms, such as linux/amd64,linux/arm64. Default: this machine's.",
)
@click.option("--push", is_flag=True, help="Push the image to its registry.")
@click.option(
    "--file",
    "-f",
    "--containerfile",
    "containerfile",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The Dockerfile. Default: Dockerfile or Containerfile in the folder.",
)
@click.option(
    "--build-arg", "arguments", multiple=True, metavar="NAME=VALUE", help="A build argument. May be repeated."
)
@click.option("--dry-run", is_flag=True, help="Print the commands without running them. Needs no tool and no engine.")
@output_option
def command(
    targets: Sequence[str],
    image: str | None,
    tool: Tool | None,
    platforms: str | None,
    push: bool,
    containerfile: Path | None,
    arguments: Sequence[str],
    dry_run: bool,
    output: Output,
) -> None:
    """Build the operator's image from the folder of the project with docker, podman or buildah.

    In a project, --image is saved in kubewright.toml and becomes the default image of `deploy`, `installer`, `chart`
    and the next `build`.

    \b
    Example:
      kubewright build
      kubewright build --image registry.example.com/guestbook:1.0.0 --push
      kubewright build --platform linux/amd64,linux/arm64 --push --tool podman --dry-run
    """
    try:
        build = Build(
            image=_named(image) if image else load_project(targets_or_current_project(targets)).image,
            containerfile=find_containerfile(Path(), containerfile),
            platforms=[platform for platform in (platforms or "").split(",") if platform],
            push=push,
            arguments=arguments,
        )
    except BuildError as error:
        raise WrongUse(str(error)) from error
    try:
        chosen = tool_to_show(tool) if dry_run else find_tool(tool)
        steps = _steps(build, chosen)
        if dry_run:
            _print(steps, output)
        else:
            if chosen == "docker" and len(build.platforms) > 1 and not has_buildx():
                raise BuildError(
                    "docker needs buildx for several platforms, which is not installed: install it, or podman or"
                    " buildah"
                )
            run_commands(steps, quiet=output.json)
            output.line(f"Built {build.image}. Next: kubewright deploy")
            if image and not targets:
                _remember(build.image, output)
    except BuildError as error:
        raise click.ClickException(str(error)) from error
    output.document(
        image=build.image,
        tool=chosen,
        platforms=build.platforms,
        pushed=push and not dry_run,
        built=not dry_run,
        commands=[list(step.line) for step in steps],
    )


def _steps(build: Build, tool: Tool) -> list[Command]:
    """Returns the commands to run. A build that this tool does not support is invalid input."""
    try:
        return commands(build, tool)
    except BuildError as error:
        raise WrongUse(str(error)) from error


def _named(image: str) -> str:
    """Returns the name with a tag, and warns about `latest`."""
    try:
        parsed = Image.parse(image)
    except ValueError as error:
        raise WrongUse(str(error)) from error
    named = image if parsed.tag or parsed.digest else f"{image}:latest"
    if warning := Image.parse(named).warning():
        click.echo(f"Warning: {warning}.", err=True)
    return named


def _print(steps: Sequence[Command], output: Output) -> None:
    for step in steps:
        asked = f"{shlex.join(step.unless)} || " if step.unless else ""
        asked = f"{shlex.join(step.only_if)} && " if step.only_if else asked
        output.line(f"{asked}{shlex.join(step.line)}")


def _remember(image: str, output: Output) -> None:
    """Saves the name in the project's record, if this is a project."""
    try:
        record = Record.find(Path.cwd())
        if record is not None and record.image != image:
            carry_out(Plan(changes={RECORD: replace(record, image=image).text()}), Path.cwd())
            output.line(f"Saved in {RECORD} as the default image.")
    except ScaffoldError as error:
        raise click.ClickException(str(error)) from error
