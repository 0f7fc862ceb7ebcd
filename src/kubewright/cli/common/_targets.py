"""The program that a command works on: the targets of the command line, or the current project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._completing import files
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._importing import importing
from kubewright.cli.common._project_command import no_project_message
from kubewright.operator.loading import LoadError
from kubewright.progress import Progress
from kubewright.scaffold import Record, ScaffoldError

if TYPE_CHECKING:
    from kubewright.crd import Descriptions
    from kubewright.manifests import Program, Project

__all__ = ["OPTIONAL_TARGETS", "load_program", "load_project", "targets_argument", "targets_or_current_project"]

OPTIONAL_TARGETS = "[FILE_OR_MODULE]..."
SETTINGS_FILE = "deployment.py"
"""The file of a project that contains its `Project`. It is not part of the image."""

targets_argument = click.argument("targets", metavar=OPTIONAL_TARGETS, nargs=-1, shell_complete=files)
"""The program that a command works on. Optional in a project."""


def targets_or_current_project(targets: Sequence[str], *, settings: bool = True) -> tuple[str, ...]:
    """Returns the targets, or the package of the current project. Raises a usage error if there is neither.

    The package is followed by the file with the settings of its deployment, if `settings` is true and there is one.
    """
    if targets:
        return tuple(targets)
    try:
        record = Record.find(Path.cwd())
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    if record is None:
        raise click.UsageError(f"name a FILE_OR_MODULE, or run this in a project's folder: {no_project_message()}")
    return (record.package, SETTINGS_FILE) if settings and Path(SETTINGS_FILE).is_file() else (record.package,)


def load_program(targets: Sequence[str], exclude: Sequence[str] = ()) -> Program:
    """Returns the kinds and operators of a program."""
    from kubewright.manifests import load

    try:
        with importing(*targets), Progress().step("Reading the program", lines=False):
            return load(targets, exclude=exclude)
    except LoadError as error:
        raise WrongUse(str(error)) from error


def load_project(
    targets: Sequence[str],
    *,
    program: Program | None = None,
    image: str | None = None,
    namespace: str | None = None,
    descriptions: Descriptions = True,
) -> Project:
    """Returns the `Project` of a program, and prints its warnings. The program is loaded by default."""
    from kubewright.manifests import Image, project_of

    program = program or load_program(targets)
    if image is None and not program.names_image:
        image = recorded_image(targets)
    try:
        if image is not None:
            Image.parse(image)  # an empty image, as from an unset variable, must not select the default
        project = project_of(program, targets, image=image, namespace=namespace, descriptions=descriptions)
    except (LoadError, ValueError) as error:
        raise WrongUse(str(error)) from error
    for warning in project.warnings():
        click.echo(f"Warning: {warning}.", err=True)
    return project


def recorded_image(targets: Sequence[str]) -> str | None:
    """Returns the image of the last build, if the targets are the project of this folder."""
    try:
        record = Record.find(Path.cwd())
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    return record.image or None if record is not None and list(targets[:1]) == [record.package] else None
