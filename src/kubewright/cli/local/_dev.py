"""`kubewright dev`: a program on a cluster, from the first save to the last."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import click

from kubewright.cli.common._completing import contexts, files
from kubewright.cli.common._exit_codes import CommandExit, WrongUse
from kubewright.cli.common._numbers import PORT, up_to
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import targets_argument, targets_or_project
from kubewright.operator.loading import LoadError

__all__ = ["command"]


@click.command("dev", cls=ProjectCommand)
@targets_argument
@click.option(
    "--kubeconfig", metavar="FILE", shell_complete=files, help="Use the cluster of this file, and no embedded one."
)
@click.option(
    "--context",
    metavar="NAME",
    shell_complete=contexts,
    help="Use the cluster of this context of the kubeconfig, and no embedded one.",
)
@click.option("--rbac", is_flag=True, help="Embedded cluster: the operator may do only what its own roles grant.")
@click.option("--nodes", type=up_to(100), default=1, show_default=True, help="Embedded cluster: how many nodes.")
@click.option(
    "--samples",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    metavar="PATH",
    help="Files or folders of objects to apply; config/samples, or example-*.yaml beside the file, unless given.",
)
@click.option("--no-samples", is_flag=True, help="Apply none.")
@click.option(
    "--write-kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Embedded cluster: write its kubeconfig to FILE; it is removed at the end.",
)
@click.option("-n", "--namespace", "namespaces", multiple=True, metavar="NAME", help="Look at this namespace only.")
@click.option("--console/--no-console", default=True, help="Serve the web console, if it is installed.")
@click.option(
    "--console-port",
    type=PORT,
    default=0,
    metavar="N",
    help="The console's port; a free one unless given.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log more.")
@click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A view for people, or a JSON document on each line for scripts.",
)
def command(
    targets: Sequence[str],
    kubeconfig: str | None,
    context: str | None,
    rbac: bool,
    nodes: int,
    samples: Sequence[Path],
    no_samples: bool,
    write_kubeconfig: Path | None,
    namespaces: Sequence[str],
    console: bool,
    console_port: int,
    verbose: bool,
    output: str,
) -> None:
    """Run a program on a cluster of its own, and again whenever one of its files is saved.

    FILE_OR_MODULE has the operator and its kinds; in a project it need not be named. The cluster is an
    embedded one, with workloads and nodes, unless --kubeconfig or --context names another. It and its objects stay
    while the operator is started again.

    Ctrl-C, or SIGTERM, ends everything: with code 0, or with 130 when it came twice and did not wait for that.

    \b
    Example:
      kubewright dev foo.py
      kubewright dev --rbac --samples config/samples
      kubewright dev shop.operators --context kind-kind --output json
    """
    from kubewright.development import Development, Plan, check_targets, samples_beside, view_for

    chosen = targets_or_project(targets)
    _check(kubeconfig, context, rbac=rbac, nodes=nodes, write_kubeconfig=write_kubeconfig)
    if no_samples and samples:
        raise click.UsageError("--samples and --no-samples contradict each other")
    try:
        check_targets(chosen)
    except LoadError as error:
        raise click.UsageError(str(error)) from error
    plan = Plan(
        targets=chosen,
        kubeconfig=os.path.abspath(kubeconfig) if kubeconfig else None,
        context=context,
        samples=() if no_samples else [*samples] or samples_beside(chosen, Path()),
        rbac=rbac,
        nodes=nodes,
        write_kubeconfig=write_kubeconfig,
        namespaces=namespaces,
        console_port=console_port if console else None,
        verbose=verbose,
    )
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # what a program or a cluster says may be in any script
    view = view_for(sys.stdout, output, os.environ, verbose=verbose)

    async def work() -> bool:
        return await Development(plan, view).run()

    if not _run(work()):
        raise click.exceptions.Exit(CommandExit.INTERRUPTED)


def _check(
    kubeconfig: str | None, context: str | None, *, rbac: bool, nodes: int, write_kubeconfig: Path | None
) -> None:
    """Refuse what is about the embedded cluster where another one is asked for."""
    if kubeconfig is None and context is None:
        if write_kubeconfig is not None:
            from kubewright.cli.local._controlplane import check_replaceable

            check_replaceable(write_kubeconfig)
        return
    for flag, given in (("--rbac", rbac), ("--nodes", nodes != 1), ("--write-kubeconfig", write_kubeconfig)):
        if given:
            raise click.UsageError(f"{flag} is about the embedded cluster, and you name another one")


def _run(work: Coroutine[Any, Any, bool]) -> bool:
    """Run on uvloop where it is installed; what the cluster refuses fails the command in one sentence."""
    from kubewright.client import ApiError, ConfigError

    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with contextlib.suppress(ImportError):  # it is not on every platform
        import uvloop

        factory = uvloop.new_event_loop
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(work)
    except ConfigError as error:
        raise WrongUse(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
