"""`kubewright catalog`: a file-based catalog of bundles."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._exit_codes import WrongUse, differs
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._project_options import out_option

if TYPE_CHECKING:
    from kubewright.olm import Bundle

__all__ = ["command"]

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("catalog", cls=ProjectCommand)
@click.argument("bundles", metavar="[BUNDLE]...", nargs=-1, type=_FOLDER)
@click.option(
    "--bundle-image",
    metavar="IMAGE",
    help="The image of each bundle, with {version} for its version. Default: bundles are embedded in the catalog.",
)
@out_option(click.Path(file_okay=False, path_type=Path), "catalog", "The folder of the catalog.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 3 if the folder is not up to date.")
@click.option("--overwrite", is_flag=True, help="Replace existing files that were not generated.")
@output_option
def command(
    bundles: Sequence[Path], bundle_image: str | None, out: Path, check: bool, overwrite: bool, output: Output
) -> None:
    """Generate a file-based catalog of one package from the folders of its bundles, one per version.

    The upgrade graph is checked: each channel has one newest version, no cycle, and every version has an upgrade path
    to the newest. BUNDLE defaults to the folder bundle.

    \b
    Example:
      kubewright catalog bundles/1.0.0 bundles/1.1.0 --bundle-image 'registry.example.com/guestbook-bundle:v{version}'
      docker build --tag registry.example.com/guestbook-catalog:latest --file catalog.Dockerfile .
      docker build --build-arg OPM_IMAGE=registry.example.com/opm:latest --file catalog.Dockerfile .
    """
    from kubewright.manifests import ForeignFile
    from kubewright.olm import Bundle, BundleError, Catalog, check_image_folder

    folders = list(bundles) or [Path("bundle")]
    image_of = _image_of(bundle_image) if bundle_image else None
    try:
        check_image_folder(out)
        catalog = Catalog.of([Bundle.read(folder) for folder in folders], image_of)
        generated = catalog.image_folder(out)
    except BundleError as error:
        raise WrongUse(str(error)) from error
    for warning in catalog.warnings:
        click.echo(f"Warning: {warning}.", err=True)
    if check:
        drifts = generated.compare()
        for drift in drifts:
            output.line(f"{os.path.normpath(out / drift.path)}{str(drift).removeprefix(drift.path)}")
        output.document(folder=str(out), differ=[drift.path for drift in drifts])
        if drifts:
            differs()
        output.line(f"{out} is up to date.")
        return
    try:
        done = generated.write(replace_foreign=overwrite)
    except ForeignFile as error:
        raise click.ClickException(f"{error} with --overwrite") from error
    for path in done.written:
        output.step("wrote", os.path.normpath(out / path))
    channels = {name: [entry.name for entry in entries] for name, entries in sorted(catalog.channels.items())}
    output.line(
        f"{catalog.package} in {out}: {', '.join(f'{name} ({len(found)})' for name, found in channels.items())}"
    )
    output.document(folder=str(out), package=catalog.package, channels=channels, steps=output.steps)


def _image_of(pattern: str) -> Callable[[Bundle], str]:
    """Returns a function that fills a bundle's version into the pattern."""

    def image(bundle: Bundle) -> str:
        return pattern.replace("{version}", bundle.version.replace("+", "-"))  # a tag must not contain a plus sign

    return image
