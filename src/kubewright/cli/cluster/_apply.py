"""`kubewright apply`: apply the objects of files to a cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kubewright.arguments import check_field_manager
from kubewright.cli.common._completing import files as complete_files
from kubewright.cli.common._completing import namespaces
from kubewright.cli.common._connecting import cluster_options, connected, timeout_option
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.client import ApplyFileError

if TYPE_CHECKING:
    from kubewright.client import AppliedObject, Client
    from kubewright.client.files import Failure, FilePath

__all__ = ["command"]

_MANAGER: Final = "kubewright-apply"


@click.command("apply")
@click.option(
    "--filename",
    "-f",
    "paths",
    multiple=True,
    required=True,
    metavar="FILE",
    shell_complete=complete_files,
    help="A file, a folder, or - for standard input. May be repeated.",
)
@click.option("--recursive", "-R", is_flag=True, help="Also use the folders inside a folder.")
@click.option(
    "--namespace",
    "-n",
    metavar="NAME",
    shell_complete=namespaces,
    help="The namespace of objects that name none. Default: the context's.",
)
@click.option("--dry-run", is_flag=True, help="Let the server validate everything, and store nothing.")
@click.option(
    "--field-manager", metavar="NAME", default=_MANAGER, show_default=True, help="The owner of the applied fields."
)
@click.option("--force-conflicts", is_flag=True, help="Take over fields that other managers own.")
@timeout_option(30.0, "applied definitions are served")
@cluster_options
@output_option
def command(
    paths: Sequence[str],
    recursive: bool,
    namespace: str | None,
    dry_run: bool,
    field_manager: str,
    force_conflicts: bool,
    timeout: float,
    kubeconfig: str | None,
    context: str | None,
    output: Output,
) -> None:
    """Apply the objects of files to the cluster (server-side apply).

    A file may contain several documents of any kinds. Namespaces are applied first, then CustomResourceDefinitions,
    then everything else. All files are read before anything is sent. An error names the file, the document and the
    line; the other objects are still applied.

    \b
    Example:
      kubewright apply -f config/samples
      kubewright apply -f dist/install.yaml --dry-run
      kustomize build config/default | kubewright apply -f - --context staging
    """
    try:
        check_field_manager(field_manager, "--field-manager")
    except ValueError as error:
        raise WrongUse(str(error)) from error
    sources: list[FilePath] = [sys.stdin.buffer if path == "-" else path for path in paths]

    async def work(client: Client) -> list[AppliedObject]:
        return await client.apply_file(
            *sources,
            namespace=namespace,
            field_manager=field_manager,
            force=force_conflicts,
            dry_run=dry_run,
            recursive=recursive,
            timeout=timeout,
            report=lambda done: output.line(str(done)),
        )

    try:
        applied = connected(kubeconfig, context, work)
    except ApplyFileError as error:
        output.document(applied=_described(error.applied), failures=[_failure(one) for one in error.failures])
        several = len(error.failures) > 1
        if several:  # the error itself is one line
            for failure in error.failures:
                click.echo(failure, err=True)
        hint = "" if force_conflicts or not _has_conflict(error) else "; use --force-conflicts to take fields over"
        message = error.summary if several else str(error)
        raise (click.ClickException if error.sent else WrongUse)(f"{message}{hint}") from error
    output.document(applied=_described(applied), failures=[])


def _described(applied: Sequence[AppliedObject]) -> list[dict[str, object]]:
    return [
        {
            "action": one.action,
            "apiVersion": one.info.api_version,
            "kind": one.info.kind,
            "namespace": one.namespace,
            "name": one.name,
            "file": one.location.file,
            "document": one.location.document,
            "line": one.location.line,
            "dryRun": one.dry_run,
        }
        for one in applied
    ]


def _failure(one: Failure) -> dict[str, object]:
    return {
        "file": one.location.file,
        "document": one.location.document,
        "line": one.location.line,
        "message": one.message,
    }


def _has_conflict(error: ApplyFileError) -> bool:
    return any("conflict" in failure.message for failure in error.failures)
