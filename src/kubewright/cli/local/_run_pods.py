"""The options `--run-pods` and `--images`: pods as processes of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._targets import load_project
from kubewright.scaffold import Record, ScaffoldError

if TYPE_CHECKING:
    from kubewright.cluster.processes import Images

__all__ = ["mapped_images", "run_pods_options"]

F = TypeVar("F", bound=Callable[..., Any])


def run_pods_options(command: F) -> F:
    """Adds the options to a command."""
    run = click.option(
        "--run-pods",
        is_flag=True,
        help="Run pods whose image is mapped as processes of this machine, without containers. Not a sandbox. In a "
        "project, its image runs the operator from its source.",
    )
    images = click.option(
        "--images",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        metavar="FILE",
        help="With --run-pods: the programs of images, as TOML.",
    )
    return run(images(command))


def mapped_images(run_pods: bool, file: Path | None) -> Images | None:
    """Returns the mapping of the project in this folder and of the file; None if no pods are to run."""
    if not run_pods:
        if file is not None:
            raise click.UsageError("--images requires --run-pods: without it, no programs run")
        return None
    from kubewright.cluster.processes import Images, ImagesError, project_images

    try:
        record = Record.find(Path.cwd())
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    mapped = Images()
    if record is not None:
        project = load_project((record.package,))
        mapped = project_images(project.image, project.target, Path.cwd())
    if file is not None:
        try:
            mapped |= Images.read(file)
        except ImagesError as error:
            raise WrongUse(str(error)) from error
    if not mapped:
        raise click.UsageError("--run-pods requires --images FILE, or the folder of a project: no image is mapped")
    return mapped
