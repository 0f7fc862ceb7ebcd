"""`kubewright bundle`: a bundle of a program's operator for the Operator Lifecycle Manager."""

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
from kubewright.cli.common._targets import OPTIONAL_TARGETS, program_of, project_from, targets_or_project
from kubewright.cli.olm._bundle_problems import counted, report_option, tell_problems

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
@click.option(
    "--image",
    metavar="IMAGE",
    help="The operator's image; as the last build was told, or as in the bundle, or <operator>:<version>.",
)
@click.option("--version", metavar="VERSION", help="The version; the program's, or that of pyproject.toml.")
@click.option("--channels", metavar="NAMES", help="The channels of this version, with commas; stable unless given.")
@click.option("--default-channel", metavar="NAME", help="The channel of users who name none; the first unless given.")
@click.option("--replaces", metavar="NAME", help="The version that this one follows, such as guestbook.v1.0.0.")
@click.option("--skips", metavar="NAME", multiple=True, help="A version that upgrades pass over; several times.")
@click.option("--skip-range", metavar="RANGE", help="Versions that upgrade to this at once, such as '>=1.0.0 <1.2.0'.")
@click.option("--min-kube-version", metavar="VERSION", help="The oldest Kubernetes; 1.29.0 unless given.")
@click.option("--scorecard-image", metavar="IMAGE", help="The tests of operator-sdk's scorecard, from your registry.")
@click.option(
    "--icon",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A picture that catalogs show beside its name.",
)
@click.option(
    "--samples",
    metavar="PATH",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Files or folders with the examples; config/samples unless given.",
)
@click.option("--out", type=_FOLDER, default=Path("bundle"), show_default=True, help="The folder.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 3 when the folder is not up to date.")
@click.option("--keep", type=click.Choice(["mine", "generated"]), help="Decide every conflict for this side.")
@click.option("--overwrite", is_flag=True, help="Replace files that are in the way and were not generated.")
@click.option(
    "--validate-only", metavar="FOLDER", type=_FOLDER, help="Make nothing: look at the bundle in this folder."
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
    """Write a bundle for the Operator Lifecycle Manager (OLM), and look at it as OLM's own tools do.

    What you edit in the ClusterServiceVersion stays when it is generated again: texts, a picture, descriptors,
    examples. A value that you and the program have both changed is a conflict: it is shown, nothing is written, and
    the command exits with 3. Options that are not given are as the bundle in the folder has them, but for
    --version.

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
        tell_problems(validate_only, suites, output)
        return
    project = _project(targets_or_project(targets), image, version, out)
    try:
        check_rules(*(project.kinds or ()))
        update = _prepared(out, project, listed, samples, keep)
        if update.conflicts:
            _tell_conflicts(update, output)
        if check:
            _check(update, output)
            return
        _write(update, output, overwrite=overwrite)
    except (BundleError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    tell_problems(out, suites, output, made=True)


def _check_only_looking(context: click.Context) -> None:
    """Refuse what is for making a bundle where none is made."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in _LOOKING and context.get_parameter_source(name) is _COMMANDLINE:
            what = parameter.opts[0] if isinstance(parameter, click.Option) else "FILE_OR_MODULE"
            raise click.UsageError(f"--validate-only makes nothing: leave {what} out")


def _project(targets: Sequence[str], image: str | None, version: str | None, out: Path) -> Project:
    """The project, with the version that is given, or that of the folder where the program says none.

    An image that nobody names is that of the bundle in the folder, while the version is the same.
    """
    from kubewright.olm import remembered_image

    program = program_of(targets)
    project = project_from(targets, program=program, image=image)
    usual = not image and project.image == f"{project.name}:{project.version}"
    said = version or ("" if program.projects else _version_here()) or project.version
    try:
        project = replace(project, version=said, image="" if usual else project.image)
        kept = remembered_image(out, project) if usual else ""
        return replace(project, image=kept) if kept else project
    except ValueError as error:
        raise WrongUse(str(error)) from error


def _version_here() -> str:
    """The version in `pyproject.toml`, if it is one that OLM takes."""
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
    """The options that were given, as arguments of `Listing`; an empty one takes away what the bundle has."""
    from kubewright.olm import icon_of

    given = {name: value for name, value in listed.items() if value is not None and value != ()}
    if "channels" in given:
        given["channels"] = [name.strip() for name in given["channels"].split(",") if name.strip()]
        # Whoever names the channels anew names the default too, or gets the first.
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


def _tell_conflicts(update: Update, output: Output) -> None:
    for conflict in update.conflicts:
        output.line(f"conflict {update.output.folder}/{update.csv}: {conflict}")
    output.document(folder=str(update.output.folder), conflicts=[asdict(conflict) for conflict in update.conflicts])
    click.echo(
        f"{counted(update.conflicts, 'conflict')}, and nothing is written: undo your change, or decide with --keep mine"
        " or --keep generated.",
        err=True,
    )
    differs()


def _check(update: Update, output: Output) -> None:
    drifts = update.compare()
    for drift in drifts:
        output.line(f"{os.path.normpath(update.output.folder / drift.path)}{str(drift).removeprefix(drift.path)}")
    output.document(folder=str(update.output.folder), differ=[asdict(drift) for drift in drifts])
    if drifts:
        click.echo(f"{counted(drifts, 'file')} not up to date: run the command without --check.", err=True)
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
        click.echo(f"Warning: your edit of {path} is gone, with what it was in.", err=True)
    output.line(f"{len(update.output.files)} files in {update.output.folder}, {len(done.unchanged)} of them unchanged.")
