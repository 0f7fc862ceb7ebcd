"""`kubewright manifests`: the files of a deployment, from the program."""

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
from kubewright.cli.common._targets import (
    program_of,
    project_from,
    recorded_image,
    targets_argument,
    targets_or_project,
)

if TYPE_CHECKING:
    from kubewright.api import Object
    from kubewright.api.apiextensions.v1 import CustomResourceDefinition
    from kubewright.manifests import File

__all__ = ["command"]

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@click.command("manifests", cls=ProjectCommand)
@targets_argument
@click.option(
    "--out",
    type=OUT_FOLDER,
    metavar="FOLDER",
    help="Where the files go; made if it is not there.  [default: config; chart with --package helm]",
)
@click.option(
    "--package",
    type=click.Choice(["kustomize", "helm"]),
    help="Write all that runs the operator too: as a kustomize tree, or as a Helm chart.",
)
@click.option(
    "--image",
    metavar="IMAGE",
    help="With --package: the operator's image; as the last build was told, or <operator>:<version>, unless given.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 3 and say how the files differ, if they do.")
@click.option(
    "--namespace", metavar="NAME", help="The namespace that the operator runs in; <operator>-system unless given."
)
@click.option(
    "--descriptions",
    type=click.Choice(["full", "short", "off"]),
    default="full",
    show_default=True,
    help="How much of the docstrings goes into the definitions; short is the first sentence.",
)
@click.option(
    "--exclude", multiple=True, metavar="GROUP", help="Leave out kinds of this API group. May be given several times."
)
@click.option(
    "--policies", is_flag=True, help="Write the CEL rules of each kind as a ValidatingAdmissionPolicy, too: policy/."
)
@click.option("--overwrite", is_flag=True, help="Replace files that are in the way and were not generated.")
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
    overwrite: bool,
    output: Output,
) -> None:
    """Write definitions and roles from the program that needs them.

    Each FILE_OR_MODULE is a Python file, or the name of a module, with kinds (classes under @resource), an Operator, or
    both; `foo.py:operator` takes one operator of several. They are imported, nothing is run. In the folder of a project
    it need not be named.

    \b
      crd/bases/GROUP_PLURAL.yaml   a definition of each kind
      rbac/                         service account, roles and bindings, with just the rules that follow from what
                                    the operator declares; viewer, editor and admin roles of each kind
      */kustomization.yaml          to apply either with `kubectl apply --server-side -k`

    With --package also the Deployment, its Services, webhooks and the rest: settings are those of a
    kubewright.manifests.Project among the names of FILE_OR_MODULE, or the usual ones.

    In a folder that has a kustomize tree or policies already, all of it is written, without saying so again: nothing
    is removed that was written with other options. The image stays, unless --image or a build names another.

    The same program always gives the same bytes. Either all files are written or none. Generated files that are no
    longer wanted are removed; files of your own are not touched.

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
        package = "kustomize"  # definitions and roles are parts of it, and are another there
    if image and not package:
        raise click.UsageError("--image goes with --package: definitions and roles name no image")
    if namespace is not None and not _NAMESPACE.fullmatch(namespace):
        raise click.UsageError(f"--namespace is lower case letters, digits and '-', at most 63, not {namespace!r}")
    out = out or Path("chart" if package == "helm" else "config")
    if policies and package and found is None:
        raise click.UsageError("--policies goes without --package: what a package has, it applies")
    policies = policies or (package != "helm" and _has_policies(out))
    files = _files(
        targets_or_project(targets), namespace, descriptions, exclude, package, image, policies=policies, kept=found
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
        output.line(f"{len(files)} files in {out} are up to date.")
        return
    try:
        done = write(out, files, replace_foreign=overwrite, own=own)
    except ForeignFile as error:
        raise click.ClickException(f"{error} with --overwrite") from error
    for path in done.written:
        output.line(f"wrote {out}/{path}")
    for path in done.removed:
        output.line(f"removed {out}/{path}")
    output.line(f"{len(files)} files in {out}, {len(done.unchanged)} of them unchanged.")
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
    kept: Path | None,
) -> list[File]:
    """The files. `kept` is the folder with the package that was found there, whose image stays."""
    from kubewright.crd import check_rules, crds_of
    from kubewright.manifests import chart_files, crd_files, kustomize_files, kustomize_image, rbac_files

    described: Literal["short"] | bool = "short" if descriptions == "short" else descriptions == "full"
    program = program_of(targets, exclude)
    crds = crds_of(*program.kinds, descriptions=described)
    check_rules(*program.kinds)
    for crd in crds:
        _warn_of_size(crd, shorter=descriptions != "off")
    more = _policy_files(program.kinds) if policies else []
    if package:
        if kept is not None and image is None and not program.projects:
            image = recorded_image(targets) or kustomize_image(kept)
        project = project_from(targets, program=program, image=image, namespace=namespace, descriptions=described)
        return [*kustomize_files(project), *more] if package == "kustomize" else chart_files(project)
    definitions = crd_files(crds, converted=program.converted)
    return [*definitions, *rbac_files(program.operators, program.kinds, namespace=namespace), *more]


def _has_policies(out: Path) -> bool:
    """Whether --policies was given before, so that its files stay up to date."""
    from kubewright.manifests import is_generated

    return any(is_generated(path) for path in (out / "policy").glob("*.yaml"))


def _policy_files(kinds: Sequence[type[Object]]) -> list[File]:
    from kubewright.manifests import policy_files

    files, left_out = policy_files(kinds)
    for text in left_out:
        click.echo(f"Warning: no policy has the rule of {text}.", err=True)
    return files


def _warn_of_size(crd: CustomResourceDefinition, *, shorter: bool) -> None:
    from kubewright.manifests import MOST_ANNOTATIONS, applied_size

    size = applied_size(crd)
    if size > MOST_ANNOTATIONS:
        hint = ", or make it smaller with --descriptions=short or off" if shorter else ""
        click.echo(
            f"Warning: {crd.metadata.name} is too large for `kubectl apply`: {size:,} bytes would be in an annotation,"
            f" and all annotations of an object may have {MOST_ANNOTATIONS:,}. Use"
            f" `kubectl apply --server-side`{hint}.",
            err=True,
        )
