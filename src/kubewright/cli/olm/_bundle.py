"""`kubewright bundle`: generate a bundle for the Operator Lifecycle Manager."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubewright.cli.common._exit_codes import WrongUse, differs
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._project_options import image_option, overwrite_option
from kubewright.cli.common._targets import OPTIONAL_TARGETS, load_project, targets_or_current_project
from kubewright.cli.olm._bundle_problems import print_problems, report_option
from kubewright.counts import counted

if TYPE_CHECKING:
    from kubewright.manifests import Project
    from kubewright.olm import Keep, Listing, Suite, Update

__all__ = ["command"]

_SAMPLES = Path("config/samples")
_FOLDER = click.Path(file_okay=False, path_type=Path)
_LOOKING = ("validate_only", "suites", "output")
_COMMANDLINE = click.core.ParameterSource.COMMANDLINE


@click.command("bundle", cls=ProjectCommand)
@click.argument("targets", metavar=OPTIONAL_TARGETS, nargs=-1)
@image_option(default="the image of the last build, of the bundle, or <operator>:<version>")
@click.option(
    "--version", metavar="VERSION", help="The version. Default: the version of the program or of pyproject.toml."
)
@click.option("--channels", metavar="NAMES", help="The channels of this version, separated by commas. Default: stable.")
@click.option(
    "--default-channel", metavar="NAME", help="The default channel of the package. Default: the first channel."
)
@click.option("--replaces", metavar="NAME", help="The version that this one replaces, such as guestbook.v1.0.0.")
@click.option("--skips", metavar="NAME", multiple=True, help="A version that upgrades skip. May be repeated.")
@click.option(
    "--skip-range", metavar="RANGE", help="Versions that upgrade directly to this one, such as '>=1.0.0 <1.2.0'."
)
@click.option("--min-kube-version", metavar="VERSION", help="The oldest supported Kubernetes. Default: 1.29.0.")
@click.option(
    "--scorecard-image", metavar="IMAGE", help="The image of operator-sdk's scorecard tests, from your registry."
)
@click.option(
    "--icon",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The icon that catalogs show.",
)
@click.option(
    "--samples",
    metavar="PATH",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Files or folders with example objects. Default: config/samples.",
)
@click.option("--out", type=_FOLDER, default=Path("bundle"), show_default=True, help="The folder.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 3 if the folder is not up to date.")
@click.option("--keep", type=click.Choice(["mine", "generated"]), help="Resolve every conflict in favor of this side.")
@overwrite_option()
@click.option(
    "--validate-only", metavar="FOLDER", type=_FOLDER, help="Generate nothing; validate the bundle in this folder."
)
@report_option
@output_option
def command(
    targets: Sequence[str],
    image: str | None,
    version: str | None,
    out: Path,
    check: bool,
    keep: Keep | None,
    overwrite: bool,
    samples: Sequence[Path],
    validate_only: Path | None,
    suites: Sequence[Suite],
    output: Output,
    **listed: Any,
) -> None:
    """Generate a bundle for the Operator Lifecycle Manager (OLM), and validate it like OLM's own tools.

    Your edits of the ClusterServiceVersion are kept when it is generated again: descriptions, an icon, descriptors,
    examples. A value that both you and the program changed is a conflict: it is shown, nothing is written, and the
    command exits with 3. Options default to the values of the existing bundle, except --version.

    \b
    Example:
      kubewright bundle --image registry.example.com/guestbook:1.0.0 --channels stable
      kubewright bundle --check
      kubewright bundle --validate-only bundle --suite scorecard --output json
    """
    from kubewright.crd import check_rules
    from kubewright.olm import BundleError

    if validate_only is not None:
        _check_only_looking(click.get_current_context())
        print_problems(validate_only, suites, output)
        return
    project = _project(targets_or_current_project(targets), image, version, out)
    try:
        check_rules(*(project.kinds or ()))
        update = _prepared(out, project, listed, samples, keep)
        if update.conflicts:
            _print_conflicts(update, output)
        if check:
            _check(update, output)
            return
        _write(update, output, overwrite=overwrite)
    except (BundleError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    print_problems(out, suites, output, made=True)


def _check_only_looking(context: click.Context) -> None:
    """Rejects options for generating a bundle together with --validate-only."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in _LOOKING and context.get_parameter_source(name) is _COMMANDLINE:
            what = parameter.opts[0] if isinstance(parameter, click.Option) else "FILE_OR_MODULE"
            raise click.UsageError(f"--validate-only generates nothing: leave out {what}")


def _project(targets: Sequence[str], image: str | None, version: str | None, out: Path) -> Project:
    """Returns the project with its version: the option, the program's, or that of pyproject.toml.

    The default image is that of the existing bundle, if the version is the same.
    """
    from kubewright.manifests import Project
    from kubewright.olm import remembered_image

    project = load_project(targets, image=image)
    usual = not image and project.image == project.default_image
    said = version or (_version_here() if project.version == Project.version else "") or project.version
    try:
        project = replace(project, version=said, image="" if usual else project.image)
        kept = remembered_image(out, project) if usual else ""
        return replace(project, image=kept) if kept else project
    except ValueError as error:
        raise WrongUse(str(error)) from error


def _version_here() -> str:
    """Returns the version in `pyproject.toml`, if it is a semantic version, as OLM requires."""
    import tomllib

    from kubewright.olm import is_semver

    try:
        said = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8")).get("project", {}).get("version", "")
    except (FileNotFoundError, ValueError):
        return ""
    return said if isinstance(said, str) and is_semver(said) else ""


def _prepared(
    out: Path, project: Project, listed: Mapping[str, Any], samples: Sequence[Path], keep: Keep | None
) -> Update:
    from kubewright.olm import ExampleError, prepare, read_samples, remembered

    listing = _listing({**remembered(out, project), **_given(listed)})
    places = samples or ([_SAMPLES] if _SAMPLES.is_dir() else [])
    try:
        examples = read_samples(places, list(project.kinds or ()))
    except ExampleError as error:
        raise WrongUse(str(error)) from error
    return prepare(out, project, listing, examples, keep=keep)


def _given(listed: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options as arguments of `Listing`. An empty option removes the value of the existing bundle."""
    from kubewright.olm import icon_of

    given = {name: value for name, value in listed.items() if value is not None and value != ()}
    if "channels" in given:
        given["channels"] = [name.strip() for name in given["channels"].split(",") if name.strip()]
        # New channels also need a new default channel: the one that is named, or the first.
        given.setdefault("default_channel", "")
    if "icon" in given:
        try:
            given["icon"] = icon_of(given["icon"])
        except ValueError as error:
            raise WrongUse(str(error)) from error
    return given


def _listing(arguments: Mapping[str, Any]) -> Listing:
    from kubewright.olm import Listing

    try:
        return Listing.from_pyproject(Path("pyproject.toml"), **arguments)
    except ValueError as error:
        field, _, rest = str(error).partition(" ")
        said = f"--{field.replace('_', '-')} {rest}" if field in arguments else str(error)
        raise WrongUse(said) from error


def _print_conflicts(update: Update, output: Output) -> None:
    for conflict in update.conflicts:
        output.line(f"conflict {update.output.folder}/{update.csv}: {conflict}")
    output.document(folder=str(update.output.folder), conflicts=[asdict(conflict) for conflict in update.conflicts])
    click.echo(
        f"{counted(len(update.conflicts), 'conflict')}, nothing was written: undo your change, or use --keep mine or"
        " --keep generated.",
        err=True,
    )
    differs()


def _check(update: Update, output: Output) -> None:
    drifts = update.compare()
    for drift in drifts:
        output.line(f"{os.path.normpath(update.output.folder / drift.path)}{str(drift).removeprefix(drift.path)}")
    output.document(folder=str(update.output.folder), differ=[asdict(drift) for drift in drifts])
    if drifts:
        click.echo(f"{counted(len(drifts), 'file')} not up to date: run the command without --check.", err=True)
        differs()
    output.line(f"{len(update.output.files) + 1} files in {update.output.folder} and beside it are up to date.")


def _write(update: Update, output: Output, *, overwrite: bool) -> None:
    from kubewright.manifests import ForeignFile

    try:
        done = update.write(replace_foreign=overwrite)
    except ForeignFile as error:
        raise click.ClickException(f"{error} with --overwrite") from error
    for path in done.written:
        output.step("wrote", os.path.normpath(update.output.folder / path))
    for path in done.removed:
        output.step("removed", f"{update.output.folder}/{path}")
    for path in update.lost:
        click.echo(f"Warning: your edit of {path} is lost, because its parent no longer exists.", err=True)
    files = counted(len(update.output.files), "file")
    output.line(f"{files} in {update.output.folder}, {len(done.unchanged)} of them unchanged.")
