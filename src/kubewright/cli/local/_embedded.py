"""`kubewright cluster`: run the embedded cluster."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import shlex
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import click

from kubewright.cli.common._numbers import PORT, up_to
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.local._kubeconfig_file import check_replaceable, write_kubeconfig_option
from kubewright.cli.local._run_pods import PodOptions, run_pods_options, workloads_of
from kubewright.files import remove_own

__all__ = ["command"]

_COMPACTION: Final = 300.0  # seconds, as kube-apiserver


@click.group("cluster")
def command() -> None:
    """Run the embedded cluster: a Kubernetes API server in this process, without binaries or containers.

    \b
    Example:
      kubewright cluster start --workloads --write-kubeconfig kubeconfig
    """


@command.command("start")
@click.option("--workloads", is_flag=True, help="Also run the workload controllers: Deployments get pods, and so on.")
@click.option(
    "--nodes",
    type=up_to(1000),
    metavar="N",
    help="With --workloads: the number of nodes. Default: 1.",
)
@run_pods_options
@click.option(
    "--controllers",
    type=click.Choice(["all", "none"]),
    default="all",
    show_default=True,
    help="Which controllers run. none: a bare API server, without service accounts, garbage collection and deletion of "
    "namespaces, as envtest provides it.",
)
@click.option("--rbac", is_flag=True, help="Enforce RBAC: users may do only what roles grant.")
@click.option(
    "--port",
    type=PORT,
    default=0,
    metavar="N",
    help="Listen on this port. Default: a free port.",
)
@write_kubeconfig_option()
@click.option(
    "--snapshot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep the state in FILE: read at the start, written on changes and at the end.",
)
@click.option(
    "--audit-log",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Append each request to FILE as an audit.k8s.io/v1 Event, without bodies. Mode 0600; rotated at 32 MiB.",
)
@output_option
def start(
    workloads: bool,
    nodes: int | None,
    pods: PodOptions,
    controllers: str,
    rbac: bool,
    port: int,
    write_kubeconfig: Path | None,
    snapshot: Path | None,
    audit_log: Path | None,
    output: Output,
) -> None:
    """Run a cluster until Ctrl-C. It listens on loopback only.

    \b
    Example:
      kubewright cluster start --workloads --write-kubeconfig kubeconfig
    """
    if nodes is not None and not workloads:
        raise click.UsageError("--nodes requires --workloads: without workloads nothing runs on nodes")
    if pods.run_pods and not workloads:
        raise click.UsageError("--run-pods requires --workloads: without workloads nothing runs on nodes")
    if workloads and controllers == "none":
        raise click.UsageError("--controllers none and --workloads exclude each other: workloads need the controllers")
    if write_kubeconfig is not None:
        check_replaceable(write_kubeconfig)
    processes = pods.settings()
    try:
        settings: dict[str, Any] = {  # arguments of Cluster
            "workloads": workloads_of(nodes or 1, processes) if workloads else False,
            "controllers": controllers == "all",
            "snapshot": snapshot,
            "audit_log": audit_log,
            "rbac": rbac,
            "compaction": _COMPACTION,
        }
        _run(_serve(output, port, write_kubeconfig, settings))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise click.ClickException(
                f"port {port} is in use: name another one with --port, or leave it out for a free port"
            ) from error
        raise
    finally:
        if write_kubeconfig is not None:
            remove_own(write_kubeconfig, b"")  # the empty file of a cluster that did not start
    output.line("The cluster has stopped.")


def _run(serving: Coroutine[None, None, None]) -> None:
    """Runs on uvloop if it is installed."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with contextlib.suppress(ImportError):  # not available on every platform
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serving)


async def _serve(output: Output, port: int, write_kubeconfig: Path | None, settings: dict[str, Any]) -> None:
    from kubewright.cluster import Cluster

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(number, stopped.set)
    async with Cluster(**settings) as cluster:
        url = await cluster.serve(port=port)
        kubeconfig = cluster.kubeconfig(write_kubeconfig)
        output.line(f"The embedded cluster is ready at {url}. In another terminal:\n")
        output.line(f"  export KUBECONFIG={shlex.quote(str(kubeconfig.absolute()))}")
        output.line("  kubectl get namespaces\n")
        snapshot = settings["snapshot"]
        lost = f"keeps its state in {snapshot}" if snapshot else "deletes all its data"
        output.line(f"Ctrl-C stops the cluster; it {lost}.")
        output.document(url=url, kubeconfig=str(kubeconfig.absolute()))
        written = kubeconfig.read_bytes()
        try:
            await stopped.wait()
        finally:
            remove_own(kubeconfig, written)
