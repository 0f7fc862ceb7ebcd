"""`kubewright version`."""

from __future__ import annotations

import platform

import click

from kubewright import __version__
from kubewright.testing import ETCD_VERSION, KUBERNETES_VERSION

__all__ = ["command"]


@click.command("version")
def command() -> None:
    """Print the versions of Kubewright and of what it is pinned to."""
    click.echo(f"kubewright {__version__}")
    click.echo(f"kubernetes {KUBERNETES_VERSION} (control plane for tests)")
    click.echo(f"etcd {ETCD_VERSION}")
    click.echo(f"python {platform.python_version()}")
