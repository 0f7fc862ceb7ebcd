"""`kubewright version`."""

from __future__ import annotations

import platform

import click

from kubewright.cli.common._output import Output, output_option
from kubewright.testing import ETCD_VERSION, KUBERNETES_VERSION
from kubewright.version import VERSION

__all__ = ["command"]


@click.command("version")
@output_option
def command(output: Output) -> None:
    """Print the versions of Kubewright and of the programs that it is pinned to.

    \b
    Example:
      kubewright version --output json
    """
    python = platform.python_version()
    output.line(f"kubewright {VERSION}")
    output.line(f"kubernetes {KUBERNETES_VERSION} (control plane for tests)")
    output.line(f"etcd {ETCD_VERSION}")
    output.line(f"python {python}")
    output.document(kubewright=VERSION, kubernetes=KUBERNETES_VERSION, etcd=ETCD_VERSION, python=python)
