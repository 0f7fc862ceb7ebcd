"""`kubewright manifests`: generate the files of a deployment from the program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from kubewright.cli.common._exit_codes import differs
from kubewright.cli.common._folders import OUT_FOLDER
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._project_options import image_option, namespace_option, overwrite_option
from kubewright.cli.common._targets import (
    load_program,
    load_project,
    recorded_image,
    targets_argument,
    targets_or_current_project,
)
from kubewright.counts import counted

if TYPE_CHECKING:
    from kubewright.api import Object
    from kubewright.api.apiextensions.v1 import CustomResourceDefinition
    from kubewright.manifests import File, Program

__all__ = ["command"]

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@click.command("manifests", cls=ProjectCommand)
@targets_argument
@click.option(
    "--out",
    type=OUT_FOLDER,
    metavar="FOLDER",
    help="The folder to write to; created if it does not exist.  [default: config; chart with --package helm]",
)
@click.option(
    "--package",
    type=click.Choice(["kustomize", "helm"]),
    help="Also generate the whole deployment, as a kustomize tree or as a Helm chart.",
)
@image_option("With --package: the operator's image")
@click.option("--check", is_flag=True, help="Write nothing; print how the files differ, and exit with 3 if they do.")
@namespace_option
@click.option(
    "--descriptions",
    type=click.Choice(["full", "short", "off"]),
    default="full",
    show_default=True,
    help="How much of the docstrings the definitions contain; short is the first sentence.",
)
@click.option("--exclude", multiple=True, metavar="GROUP", help="Skip the kinds of this API group. May be repeated.")
@click.option(
    "--policies",
    is_flag=True,
    help="Also generate the CEL rules of each kind as a ValidatingAdmissionPolicy in policy/.",
)
@click.option("--schemas", is_flag=True, help="Also generate a JSON schema of each kind in schema/, for editors.")
@overwrite_option()
@output_option
def command(
    targets: Sequence[str],
    out: Path | None,
    package: Literal["kustomize", "helm"] | None,
    image: str | None,
    check: bool,
    namespace: str | None,
    descriptions: Literal["full", "short", "off"],
    exclude: Sequence[str],
    policies: bool,
    schemas: bool,
    overwrite: bool,
    output: Output,
) -> None:
    """Generate CustomResourceDefinitions and roles from the program.

    FILE_OR_MODULE is a Python file or a module with kinds (classes with @resource), an Operator, or both;
    `foo.py:operator` selects one operator of several. The modules are imported, nothing is run. In a project you can
    leave it out.

    \b
      crd/bases/GROUP_PLURAL.yaml   a definition for each kind
      rbac/                         service account, roles and bindings, with exactly the rules that the operator
                                    needs; viewer, editor and admin roles for each kind
      */kustomization.yaml          for `kubectl apply --server-side -k`

    With --package, also the Deployment, its Services, webhooks and so on. The settings are those of a
    kubewright.manifests.Project in FILE_OR_MODULE, or the defaults.

    If the folder already contains a kustomize tree, policies or schemas, these are updated without repeating the
    options. The image stays, unless --image or a build names another one.

    The same program always gives the same bytes. Either all files are written or none. Generated files that are no
    longer needed are deleted; your own files are not touched.

    \b
    Example:
      kubewright manifests foo.py --out config
      kubewright manifests foo.py --out config --check     # in CI
      kubectl apply --server-side -k config/crd
      kubewright manifests foo.py --package kustomize --image registry.example.com/foo:1.0.0
      kubectl apply --server-side -k config/default
      kubewright manifests foo.py --package helm --out chart
    """
    from kubewright.manifests import KUSTOMIZE_FOLDERS, ForeignFile, compare, has_kustomize_tree, write

    found = None if package else out or Path("config")
    if found is not None and has_kustomize_tree(found):
        package = "kustomize"  # definitions and roles are part of the tree, with other content than alone
    if image and not package:
        raise click.UsageError("--image requires --package: definitions and roles contain no image")
    if namespace is not None and not _NAMESPACE.fullmatch(namespace):
        raise click.UsageError(f"--namespace must be lower case letters, digits and '-', at most 63, not {namespace!r}")
    out = out or Path("chart" if package == "helm" else "config")
    if policies and package and found is None:
        raise click.UsageError(
            "--policies and --package exclude each other: applying a package would also apply the policies"
        )
    policies = policies or (package != "helm" and _has_generated(out, "policy/*.yaml"))
    schemas = schemas or (package != "helm" and _has_generated(out, "schema/*.json"))
    chosen = targets_or_current_project(targets)
    files = _files(
        chosen, namespace, descriptions, exclude, package, image, policies=policies, schemas=schemas, kept=found
    )
    own = KUSTOMIZE_FOLDERS if package != "helm" else ()
    if check:
        drifts = compare(out, files, own=own)
        output.document(out=str(out), files=len(files), differ=drifts)
        for drift in drifts:
            output.line(f"{out}/{drift}")
        if drifts:
            click.echo(
                f"{len(drifts)} of {len(files)} files are not up to date: run the command without --check.", err=True
            )
            differs()
        output.line(f"{counted(len(files), f'file in {out} is', f'files in {out} are')} up to date.")
        return
    try:
        done = write(out, files, replace_foreign=overwrite, own=own)
    except ForeignFile as error:
        raise click.ClickException(f"{error} with --overwrite") from error
    for path in done.written:
        output.line(f"wrote {out}/{path}")
    for path in done.removed:
        output.line(f"removed {out}/{path}")
    output.line(f"{counted(len(files), 'file')} in {out}, {len(done.unchanged)} of them unchanged.")
    output.document(out=str(out), files=len(files), written=done.written, removed=done.removed)


def _files(
    targets: Sequence[str],
    namespace: str | None,
    descriptions: Literal["full", "short", "off"],
    exclude: Sequence[str],
    package: Literal["kustomize", "helm"] | None,
    image: str | None,
    *,
    policies: bool,
    schemas: bool,
    kept: Path | None,
) -> list[File]:
    """Returns the files. `kept` is the folder of an existing kustomize tree, whose image stays."""
    from kubewright.crd import check_rules, crds_of
    from kubewright.manifests import chart_files, crd_files, kustomize_files, rbac_files, schema_files

    described: Literal["short"] | bool = "short" if descriptions == "short" else descriptions == "full"
    program = load_program(targets, exclude)
    crds = crds_of(*program.kinds, descriptions=described)
    check_rules(*program.kinds)
    for crd in crds:
        _warn_of_size(crd, shorter=descriptions != "off")
    more = [*(_policy_files(program.kinds) if policies else ()), *(schema_files(crds) if schemas else ())]
    if package:
        if kept is not None and image is None and not program.names_image:
            image = recorded_image(targets) or _kept_image(kept, program)
        project = load_project(targets, program=program, image=image, namespace=namespace, descriptions=described)
        return [*kustomize_files(project), *more] if package == "kustomize" else chart_files(project)
    definitions = crd_files(crds, converted=program.converted)
    return [*definitions, *rbac_files(program.operators, program.kinds, namespace=namespace), *more]


def _kept_image(kept: Path, program: Program) -> str | None:
    """Returns the image of the tree, unless it is the default of a Project, which changes with the version."""
    from kubewright.manifests import Image, kustomize_image

    image = kustomize_image(kept)
    defaults = [project.name for project in program.projects]
    return None if image is None or (defaults and Image.parse(image).repository in defaults) else image


def _has_generated(out: Path, pattern: str) -> bool:
    """Whether the folder has such generated files, which stay up to date without repeating the option."""
    from kubewright.manifests import is_generated

    return any(is_generated(path) for path in out.glob(pattern))


def _policy_files(kinds: Sequence[type[Object]]) -> list[File]:
    from kubewright.manifests import policy_files

    files, left_out = policy_files(kinds)
    for text in left_out:
        click.echo(f"Warning: no policy contains the rule of {text}.", err=True)
    return files


def _warn_of_size(crd: CustomResourceDefinition, *, shorter: bool) -> None:
    from kubewright.manifests import MOST_ANNOTATIONS, applied_size

    size = applied_size(crd)
    if size > MOST_ANNOTATIONS:
        hint = ", or make it smaller with --descriptions=short or off" if shorter else ""
        click.echo(
            f"Warning: {crd.metadata.name} is too large for `kubectl apply`, which would store {size:,} bytes in an"
            f" annotation; the annotations of an object may have {MOST_ANNOTATIONS:,}. Use `kubectl apply"
            f" --server-side`{hint}.",
            err=True,
        )
