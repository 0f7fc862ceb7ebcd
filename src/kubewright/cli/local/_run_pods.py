"""The options `--run-pods`, `--images`, `--host-root` and `--storage`: pods as processes of this machine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
import msgspec

from kubewright.cli.common._exit_codes import WrongUse

if TYPE_CHECKING:
    from kubewright.cluster.processes import Images
    from kubewright.cluster.workloads import Workloads

__all__ = ["PodOptions", "RunPods", "run_pods_options", "workloads_of"]

F = TypeVar("F", bound=Callable[..., Any])


class RunPods(msgspec.Struct, frozen=True):
    """The settings of nodes that run pods."""

    images: Images
    host_root: Path | None
    storage: Path | None


class PodOptions(msgspec.Struct, frozen=True):
    """The options as they were given."""

    run_pods: bool = False
    images: Path | None = None
    host_root: Path | None = None
    storage: Path | None = None

    def settings(self) -> RunPods | None:
        """Returns the settings, with the images of the project in this folder; None if no pods are to run.

        Raises UsageError for options that do not fit.
        """
        if not self.run_pods:
            given = {"--images": self.images, "--host-root": self.host_root, "--storage": self.storage}
            for option, value in given.items():
                if value is not None:
                    raise click.UsageError(f"{option} requires --run-pods: without it, no programs run")
            return None
        return RunPods(_mapped_images(self.images), self.host_root, self.storage)


class _Folder(click.Path):
    """An existing folder with an absolute path: the folder must not depend on where the command is started."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        folder = Path(value)
        if not folder.is_absolute():
            self.fail(f"{str(folder)!r} is not an absolute path; use {str(folder.absolute())!r}", param, ctx)
        if not folder.is_dir():
            problem = "is not a folder" if folder.exists() else "does not exist; create the folder first"
            self.fail(f"{str(folder)!r} {problem}", param, ctx)
        return folder


def workloads_of(nodes: int, pods: RunPods | None) -> Workloads:
    """Returns the settings of the nodes of an embedded cluster."""
    from kubewright.cluster.workloads import Workloads

    if pods is None:
        return Workloads(nodes=nodes)
    return Workloads(nodes=nodes, processes=pods.images, storage=pods.storage, host_root=pods.host_root)


def run_pods_options(command: F) -> F:
    """Adds the options to a command, which gets them as its argument `pods`."""

    @functools.wraps(command)
    def with_pods(
        *args: Any, run_pods: bool, images: Path | None, host_root: Path | None, storage: Path | None, **kwargs: Any
    ) -> Any:
        return command(*args, pods=PodOptions(run_pods, images, host_root, storage), **kwargs)

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
        help="With --run-pods: a TOML file that maps images to programs.",
    )
    host_root = click.option(
        "--host-root",
        type=_Folder(file_okay=False),
        metavar="DIR",
        help="With --run-pods: the folder that hostPath volumes are in. Default: pods with such volumes wait.",
    )
    storage = click.option(
        "--storage",
        type=_Folder(file_okay=False),
        metavar="DIR",
        help="With --run-pods: keep the data of PersistentVolumeClaims in DIR. Default: a folder that is removed at "
        "the end.",
    )
    return cast("F", run(images(host_root(storage(with_pods)))))


def _mapped_images(file: Path | None) -> Images:
    """Returns the mapping of the project in this folder and of the file."""
    from kubewright.cli.common._targets import load_project
    from kubewright.cluster.processes import Images, ImagesError, project_images
    from kubewright.scaffold import Record, ScaffoldError

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
