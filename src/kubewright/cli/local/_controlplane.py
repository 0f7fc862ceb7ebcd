"""`kubewright controlplane`: install and run the real control plane."""

from __future__ import annotations

import contextlib
import shlex
import signal
import threading
from pathlib import Path

import click

from kubewright.cli.common._output import Output, output_option
from kubewright.cli.local._kubeconfig_file import check_replaceable, write_kubeconfig_option
from kubewright.cli.local._local_node import LocalNode, loopback_services
from kubewright.cli.local._run_pods import PodOptions, run_pods_options

__all__ = ["command"]


@click.group("controlplane")
def command() -> None:
    """Run a real Kubernetes control plane on this machine: etcd, kube-apiserver, kube-controller-manager, kubectl.

    The binaries are taken from KUBEBUILDER_ASSETS or Kubewright's cache (KUBEWRIGHT_CACHE_DIR). Otherwise they are
    downloaded, or built from source with Go, once.

    \b
    Example:
      kubewright controlplane setup
      kubewright controlplane start --with-controllers
    """


@command.command("setup")
@output_option
def setup(output: Output) -> None:
    """Install the binaries. The first time this can take several minutes.

    \b
    Example:
      kubewright controlplane setup
    """
    from kubewright.testing.binaries import kubernetes_version, setup_binaries

    folder = setup_binaries()
    output.line(f"The control plane of Kubernetes {kubernetes_version()} is ready in {folder}")
    output.document(kubernetes=kubernetes_version(), folder=str(folder))


@command.command("path")
@output_option
def path(output: Output) -> None:
    """Print the folder of the binaries, for KUBEBUILDER_ASSETS and PATH.

    \b
    Example:
      kubewright controlplane path
    """
    from kubewright.testing import find_binaries

    folder = find_binaries()
    if folder is None:
        raise click.ClickException("the binaries are not installed; run `kubewright controlplane setup`")
    output.line(str(folder))
    output.document(folder=str(folder))


@command.command("start")
@click.option("--with-controllers", is_flag=True, help="Also run kube-controller-manager.")
@run_pods_options
@write_kubeconfig_option()
@click.option(
    "--logs",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write the servers' logs to FOLDER.",
)
@output_option
def start(
    with_controllers: bool,
    pods: PodOptions,
    write_kubeconfig: Path | None,
    logs: Path | None,
    output: Output,
) -> None:
    """Run a control plane until Ctrl-C, then delete all its data.

    \b
    Example:
      kubewright controlplane start --with-controllers --write-kubeconfig kubeconfig
    """
    from kubewright.certificates import write_private
    from kubewright.files import remove_own
    from kubewright.testing import ControlPlane, setup_binaries
    from kubewright.testing.binaries import KUBECTL

    if write_kubeconfig is not None:
        check_replaceable(write_kubeconfig)
    processes = pods.settings()
    _end_like_ctrl_c()
    with contextlib.ExitStack() as running:
        flags = {} if processes is None else running.enter_context(loopback_services())
        made = ControlPlane(
            controllers=with_controllers, apiserver_flags=flags, log_directory=logs, binaries=setup_binaries()
        )
        with output.waiting("Starting the control plane"):
            plane = running.enter_context(made)
            if processes is not None:
                running.enter_context(LocalNode(plane, processes))
        kubeconfig = plane.kubeconfig
        if write_kubeconfig is not None:
            write_private(write_kubeconfig, kubeconfig.read_bytes())
            kubeconfig = write_kubeconfig.absolute()
        try:
            output.line(f"The control plane is ready at {plane.url}. In another terminal:\n")
            output.line(f"  export KUBECONFIG={shlex.quote(str(kubeconfig))}")
            output.line(f"  {shlex.quote(str(plane.binaries / KUBECTL))} get namespaces\n")
            output.line("Press Ctrl-C to stop it and delete all its data.")
            output.document(url=plane.url, kubeconfig=str(kubeconfig))
            with contextlib.suppress(KeyboardInterrupt):
                threading.Event().wait()
        finally:
            if write_kubeconfig is not None:
                remove_own(kubeconfig, plane.kubeconfig.read_bytes())
    output.line("The control plane has stopped.")


def _end_like_ctrl_c() -> None:
    """Handles SIGTERM and SIGHUP like Ctrl-C, except under nohup."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
