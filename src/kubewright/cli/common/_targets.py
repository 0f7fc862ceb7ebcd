"""Which program a command is about: the one that is named, or that of the project that the user is in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._completing import files
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._importing import importing
from kubewright.cli.common._project_command import nowhere
from kubewright.operator.loading import LoadError
from kubewright.progress import Progress
from kubewright.scaffold import Record, ScaffoldError

if TYPE_CHECKING:
    from kubewright.crd import Descriptions
    from kubewright.manifests import Program, Project

__all__ = ["OPTIONAL_TARGETS", "program_of", "project_from", "targets_argument", "targets_or_project"]

OPTIONAL_TARGETS = "[FILE_OR_MODULE]..."

targets_argument = click.argument("targets", metavar=OPTIONAL_TARGETS, nargs=-1, shell_complete=files)
"""The program that a command is about, which need not be named in a project."""


def targets_or_project(targets: Sequence[str]) -> tuple[str, ...]:
    """What was named, or the package of the project, in whose folder a `ProjectCommand` works; or a usage error."""
    if targets:
        return tuple(targets)
    try:
        record = Record.find(Path.cwd())
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    if record is None:
        raise click.UsageError(f"name a FILE_OR_MODULE, or run this in a project's folder: {nowhere()}")
    return (record.package,)


def program_of(targets: Sequence[str], exclude: Sequence[str] = ()) -> Program:
    """The kinds and operators of a program."""
    from kubewright.manifests import load

    try:
        with importing(*targets), Progress().step("Reading the program", lines=False):
            return load(targets, exclude=exclude)
    except LoadError as error:
        raise WrongUse(str(error)) from error


def project_from(
    targets: Sequence[str],
    *,
    program: Program | None = None,
    image: str | None = None,
    namespace: str | None = None,
    descriptions: Descriptions = True,
) -> Project:
    """What is deployed of a program, which is loaded unless given; a warning of it is told."""
    from kubewright.manifests import Image, project_of

    program = program or program_of(targets)
    if image is None and not program.projects:  # which say it themselves
        image = recorded_image(targets)
    try:
        if image is not None:
            Image.parse(image)  # an empty one, such as of a variable that is not set, is no wish for the usual one
        project = project_of(program, targets, image=image, namespace=namespace, descriptions=descriptions)
    except (LoadError, ValueError) as error:
        raise WrongUse(str(error)) from error
    for warning in project.warnings():
        click.echo(f"Warning: {warning}.", err=True)
    return project


def recorded_image(targets: Sequence[str]) -> str | None:
    """What the image of the project in this folder is called, as the last build was told; if this is about it."""
    try:
        record = Record.find(Path.cwd())
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    return record.image or None if record is not None and list(targets) == [record.package] else None
