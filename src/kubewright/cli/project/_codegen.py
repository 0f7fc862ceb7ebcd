"""`kubewright codegen`: generate typed models from CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._completing import contexts, files
from kubewright.cli.common._connecting import connected
from kubewright.cli.common._exit_codes import WrongUse, differs
from kubewright.cli.common._folders import OUT_PATH
from kubewright.cli.common._output import Output, output_option
from kubewright.codegen import (
    CodegenError,
    KindSource,
    Selection,
    WrongRequest,
    from_cluster,
    generate,
    read_sources,
    write,
)
from kubewright.counts import counted

if TYPE_CHECKING:
    from kubewright.client import Client

__all__ = ["command"]


@click.command("codegen")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, shell_complete=files)
@click.option(
    "--out",
    type=OUT_PATH,
    required=True,
    metavar="PATH",
    help="Where to write: a file NAME.py for one group version, or a folder, which becomes a package with a module"
    " for each.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="NAME",
    help="Generate this kind only: Certificate, certificates or certificates.cert-manager.io. May be repeated.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="KIND=CLASS",
    help="The class name of a kind. May be repeated.",
)
@click.option(
    "--descriptions/--no-descriptions",
    default=True,
    help="Whether to keep the descriptions of the definition as docstrings. Default: keep them.",
)
@click.option(
    "--lenient",
    is_flag=True,
    help="Accept fields without a type as any JSON, instead of rejecting a schema that is not structural.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 3 if a file differs from what would be written.")
@click.option(
    "--allow-http", is_flag=True, help="Also download from http:// URLs, whose content can be changed in transit."
)
@click.option("--cluster", is_flag=True, help="Read the kinds from the cluster of the kubeconfig.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --cluster: the kubeconfig file. Default: KUBECONFIG, the pod's service account, or ~/.kube/config.",
)
@click.option(
    "--context", metavar="NAME", shell_complete=contexts, help="With --cluster: the context of the kubeconfig."
)
@output_option
def command(
    sources: Sequence[str],
    out: Path,
    kinds: Sequence[str],
    names: Sequence[str],
    descriptions: bool,
    lenient: bool,
    check: bool,
    allow_http: bool,
    cluster: bool,
    kubeconfig: Path | None,
    context: str | None,
    output: Output,
) -> None:
    """Generate typed models for custom resources of other projects.

    SOURCE is a YAML file with CustomResourceDefinitions (also of v1beta1), a folder of such files, or an https:// URL.
    --cluster reads the kinds from a live cluster.

    \b
    Examples:
      kubewright codegen certificates.yaml --out my_operator/cert_manager.py
      kubewright codegen crds/ --out my_operator/crds --no-descriptions
      kubewright codegen --cluster --kind Certificate --kind Issuer --out my_operator/crds

    The same definitions always give the same files. Built-in kinds of Kubernetes are already in kubewright.api.
    """
    if not sources and not cluster:
        raise click.UsageError("Name a file, a folder or a URL, or use --cluster.")
    if (kubeconfig or context) and not cluster:
        raise click.UsageError("--kubeconfig and --context require --cluster.")
    try:
        found, missing = _read(sources, kinds, descriptions=descriptions, lenient=lenient, allow_http=allow_http)
        if cluster and (missing or not kinds):
            with output.waiting("Reading from the cluster"):
                found += _read_cluster(missing, kubeconfig, context, descriptions=descriptions)
        elif missing:
            raise WrongRequest(", ".join(sources), " ".join(missing.values()))
        modules = generate(found, names=_renamed(names))
        changed = write(modules, out, check=check)
    except WrongRequest as error:
        raise WrongUse(str(error)) from error
    except CodegenError as error:
        raise click.ClickException(str(error)) from error
    kinds_found = list(dict.fromkeys(f"{kind.plural}.{kind.group}" for kind in found))
    output.document(kinds=kinds_found, **{"differ" if check else "written": [str(path) for path in changed]})
    if check and changed:
        for path in changed:
            output.line(f"differs from what would be written: {path}")
        differs()
    what = counted(len(kinds_found), "kind")
    output.line(f"{what}, {counted(len(changed), 'file')} written" if changed else f"{what}, nothing has changed")


def _read(
    sources: Sequence[str], kinds: Sequence[str], *, descriptions: bool, lenient: bool, allow_http: bool
) -> tuple[list[KindSource], dict[str, str]]:
    """Returns the requested kinds of the sources, and a message for each requested name that was not found."""

    def skipped(note: str) -> None:
        click.echo(f"Skipped: {note}", err=True)

    found = read_sources(sources, descriptions=descriptions, lenient=lenient, allow_http=allow_http, skipped=skipped)
    selection = Selection(kinds)
    taken = [kind for kind in found if selection.takes(kind.kind, kind.plural, kind.group)]
    return taken, {name: f"there is no kind {name} in it{selection.near(name)}" for name in selection.missing()}


def _read_cluster(
    kinds: Iterable[str], kubeconfig: Path | None, context: str | None, *, descriptions: bool
) -> list[KindSource]:
    async def work(client: Client) -> list[KindSource]:
        return await from_cluster(client, list(kinds), descriptions=descriptions)

    return connected(str(kubeconfig) if kubeconfig else None, context, work)


def _renamed(names: Sequence[str]) -> dict[str, str]:
    renamed: dict[str, str] = {}
    for name in names:
        kind, equals, class_name = name.partition("=")
        if not equals or not class_name.isidentifier():
            raise click.UsageError(f"--name must be KIND=CLASS, as in Gateway=IstioGateway, not {name!r}.")
        renamed[kind] = class_name
    return renamed
