"""`kubewright dev`: run an operator on a cluster and reload it on every save."""

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
from kubewright.cli.common._completing import namespaces as complete_namespaces
from kubewright.cli.common._exit_codes import CommandExit, WrongUse
from kubewright.cli.common._numbers import PORT, up_to
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import targets_argument, targets_or_current_project
from kubewright.cli.local._kubeconfig_file import check_replaceable, write_kubeconfig_option
from kubewright.cli.local._run_pods import PodOptions, run_pods_options, workloads_of
from kubewright.operator.loading import LoadError

__all__ = ["command"]


@click.command("dev", cls=ProjectCommand)
@targets_argument
@click.option(
    "--kubeconfig",
    metavar="FILE",
    shell_complete=files,
    help="Use the cluster of this kubeconfig instead of an embedded one.",
)
@click.option(
    "--context",
    metavar="NAME",
    shell_complete=contexts,
    help="Use the cluster of this context instead of an embedded one.",
)
@click.option(
    "--rbac", is_flag=True, help="Embedded cluster: restrict the operator to the roles that are generated for it."
)
@click.option("--nodes", type=up_to(100), default=1, show_default=True, help="Embedded cluster: the number of nodes.")
@run_pods_options
@click.option(
    "--samples",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    metavar="PATH",
    help="Files or folders of objects to apply. Default: config/samples, or example-*.yaml next to the file.",
)
@click.option("--no-samples", is_flag=True, help="Apply none.")
@write_kubeconfig_option("Embedded cluster: write its kubeconfig to FILE")
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_namespaces,
    help="Watch this namespace only.",
)
@click.option("--console/--no-console", default=True, help="Serve the web console, if it is installed.")
@click.option(
    "--console-port",
    type=PORT,
    default=0,
    metavar="N",
    help="The port of the console. Default: a free port.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log more.")
@click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Show a view for people, or print one JSON document per line for scripts.",
)
def command(
    targets: Sequence[str],
    kubeconfig: str | None,
    context: str | None,
    rbac: bool,
    nodes: int,
    pods: PodOptions,
    samples: Sequence[Path],
    no_samples: bool,
    write_kubeconfig: Path | None,
    namespaces: Sequence[str],
    console: bool,
    console_port: int,
    verbose: bool,
    output: str,
) -> None:
    """Run an operator on a private cluster, and reload it whenever one of its files is saved.

    FILE_OR_MODULE contains the operator and its kinds; in a project you can leave it out. By default the cluster is an
    embedded one with workloads and nodes; --kubeconfig or --context selects another. The cluster and its objects stay
    when the operator is reloaded.

    Ctrl-C or SIGTERM stops everything with exit code 0. A second one does not wait, and exits with 130.

    \b
    Example:
      kubewright dev foo.py
      kubewright dev --rbac --samples config/samples
      kubewright dev shop.operators --context kind-kind --output json
    """
    from kubewright.development import Development, Plan, check_targets, view_for
    from kubewright.operator.loading import samples_beside

    chosen = targets_or_current_project(targets, settings=False)
    _check(kubeconfig, context, rbac=rbac, nodes=nodes, run_pods=pods.run_pods, write_kubeconfig=write_kubeconfig)
    if no_samples and samples:
        raise click.UsageError("--samples and --no-samples exclude each other")
    try:
        check_targets(chosen)
    except LoadError as error:
        raise click.UsageError(str(error)) from error
    settings = pods.settings()
    plan = Plan(
        targets=chosen,
        kubeconfig=os.path.abspath(kubeconfig) if kubeconfig else None,
        context=context,
        samples=() if no_samples else [*samples] or samples_beside(chosen, Path()),
        rbac=rbac,
        workloads=workloads_of(nodes, settings) if kubeconfig is None and context is None else None,
        write_kubeconfig=write_kubeconfig,
        namespaces=namespaces,
        console_port=console_port if console else None,
        verbose=verbose,
    )
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # programs and clusters may print any script
    view = view_for(sys.stdout, output, os.environ, verbose=verbose)

    async def work() -> bool:
        return await Development(plan, view).run()

    if not _run(work()):
        raise click.exceptions.Exit(CommandExit.INTERRUPTED)


def _check(
    kubeconfig: str | None,
    context: str | None,
    *,
    rbac: bool,
    nodes: int,
    run_pods: bool,
    write_kubeconfig: Path | None,
) -> None:
    """Rejects options of the embedded cluster if another cluster was selected."""
    if kubeconfig is None and context is None:
        if write_kubeconfig is not None:
            check_replaceable(write_kubeconfig)
        return
    options = {"--rbac": rbac, "--nodes": nodes != 1, "--run-pods": run_pods, "--write-kubeconfig": write_kubeconfig}
    for flag, given in options.items():
        if given:
            raise click.UsageError(f"{flag} is for the embedded cluster, but you selected another one")


def _run(work: Coroutine[Any, Any, bool]) -> bool:
    """Runs on uvloop if it is installed. An error of the cluster ends the command with one message."""
    from kubewright.client import ApiError, ConfigError

    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with contextlib.suppress(ImportError):  # not available on every platform
        import uvloop

        factory = uvloop.new_event_loop
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(work)
    except ConfigError as error:
        raise WrongUse(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
