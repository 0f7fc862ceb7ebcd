"""`kubewright resume`: resume the reconciles of an object."""

from __future__ import annotations

import click

from kubewright.cli.cluster._annotating import object_command, set_annotation
from kubewright.cli.common._output import Output

__all__ = ["command"]


@click.command("resume")
@object_command
def command(
    target: str, namespace: str | None, annotation: str, kubeconfig: str | None, context: str | None, output: Output
) -> None:
    """Resume a paused object: its operator reconciles it immediately.

    The command removes the annotation that `kubewright pause` sets. A deletion that waited continues.

    \b
    Example:
      kubewright resume Foo/example -n shop
    """
    set_annotation(target, namespace, annotation, None, kubeconfig, context, output)
