"""`kubewright migrate-storage`: rewrite stored objects to the storage version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubewright.cli.common._connecting import cluster_options, connected, timeout_option
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.client import NotFound
from kubewright.counts import counted

if TYPE_CHECKING:
    from kubewright.client import Client
    from kubewright.crd import MigrationMethod, StorageMigration

__all__ = ["command"]


@click.command("migrate-storage")
@click.argument("kind", metavar="KIND")
@click.option("--dry-run", is_flag=True, help="Let the server validate each write, and store nothing.")
@click.option(
    "--page-size", type=click.IntRange(1, 10_000), default=500, show_default=True, help="Objects per list request."
)
@click.option(
    "--method",
    type=click.Choice(["auto", "server", "client"]),
    default="auto",
    show_default=True,
    help="Who writes the objects: the server's StorageVersionMigration, or this command.",
)
@timeout_option(3600.0, "the server's migration has ended")
@cluster_options
@output_option
def command(
    kind: str,
    dry_run: bool,
    page_size: int,
    method: MigrationMethod,
    timeout: float,
    kubeconfig: str | None,
    context: str | None,
    output: Output,
) -> None:
    """Rewrite all objects of a kind to the storage version of its definition.

    KIND is a name as kubectl takes it: Foo, foos or foos.example.com. Then old versions are removed from
    status.storedVersions, so that a new definition may leave them out. Safe while other clients write. If the command
    is interrupted, run it again: objects that are migrated are not written again.

    \b
    Example:
      kubewright migrate-storage foos.example.com --dry-run
      kubewright migrate-storage Foo --context production
    """
    from kubewright.crd import MigrationError, migrate_storage

    async def work(client: Client) -> StorageMigration:
        with output.waiting(f"Migrating {kind}") as step:

            def report(progress: StorageMigration) -> None:
                left = "" if progress.remaining is None else f", {progress.remaining} remaining"
                step.detail = f"{progress.done + progress.failed} objects{left}"

            try:
                return await migrate_storage(
                    client, kind, dry_run=dry_run, page_size=page_size, method=method, timeout=timeout, report=report
                )
            except NotFound as error:
                if error.request == "discovery":
                    raise WrongUse(error.status.message) from error
                raise

    try:
        result = connected(kubeconfig, context, work)
    except MigrationError as error:
        output.document(**_described(error.result))
        for failure in error.result.failures:
            click.echo(failure, err=True)
        raise click.ClickException(str(error)) from error
    except ValueError as error:  # the name is ambiguous
        raise WrongUse(str(error)) from error
    output.line(_text(result))
    output.document(**_described(result))


def _text(result: StorageMigration) -> str:
    if result.method == "none":
        return f"{result.resource}: all objects are stored in {result.storage_version}; there is nothing to migrate"
    if result.method == "server":
        text = f"{result.resource}: the server migrated all objects"
    elif result.dry_run:
        text = f"{result.resource}: {counted(result.migrated, 'object')} can be migrated (server dry run)"
    else:
        text = (
            f"{result.resource}: {counted(result.migrated, 'object')} migrated, {result.unchanged} unchanged,"
            f" {result.skipped} written or deleted by other clients"
        )
    if result.dropped:
        removed = "would be removed" if result.dry_run else "removed"
        text += f"; {removed} from status.storedVersions: {', '.join(result.dropped)}"
    return text


def _described(result: StorageMigration) -> dict[str, object]:
    return {
        "resource": result.resource,
        "storageVersion": result.storage_version,
        "storedVersions": result.stored_versions,
        "dropped": result.dropped,
        "method": result.method,
        "migrated": result.migrated,
        "unchanged": result.unchanged,
        "skipped": result.skipped,
        "failed": result.failed,
        "failures": result.failures,
        "dryRun": result.dry_run,
    }
