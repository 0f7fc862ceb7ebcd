"""`kubewright pause`: pause the reconciles of an object."""

from __future__ import annotations

import click

from kubewright.cli.cluster._annotating import object_command, set_annotation
from kubewright.cli.common._output import Output

__all__ = ["command"]


@click.command("pause")
@object_command
def command(
    target: str, namespace: str | None, annotation: str, kubeconfig: str | None, context: str | None, output: Output
) -> None:
    """Pause an object: its operator does not reconcile it until it is resumed.

    The command sets an annotation. A reconcile that is running ends normally; timers and daemons of the object stop. If
    the object is deleted, its finalizers do not run until it is resumed.

    KIND is a kind, a plural or a short name. If several groups have it, add the group: `Foo.example.com/one`.

    \b
    Example:
      kubewright pause Foo/example -n shop
      kubewright resume Foo/example -n shop
    """
    set_annotation(target, namespace, annotation, "true", kubeconfig, context, output)
