"""`kubewright run`: an operator from a file or module, on the cluster of the kubeconfig."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kubewright.operator import Operator
from kubewright.operator._load import LoadError, load_operator

__all__ = ["command"]


@click.command("run")
@click.argument("target", metavar="FILE_OR_MODULE")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file that names the cluster; otherwise KUBECONFIG, the pod's own account, ~/.kube/config.",
)
@click.option("--context", help="The context in the kubeconfig.")
@click.option("--master", metavar="URL", help="The API server's address, instead of the one in the kubeconfig.")
@click.option(
    "-n", "--namespace", "namespaces", multiple=True, help="Look at this namespace only. May be given several times."
)
@click.option("-v", "--verbose", is_flag=True, help="Log more.")
def command(
    target: str,
    kubeconfig: Path | None,
    context: str | None,
    master: str | None,
    namespaces: Sequence[str],
    verbose: bool,
) -> None:
    """Run an operator until SIGTERM or SIGINT.

    FILE_OR_MODULE is a Python file or the name of a module that has an Operator. When it has several, say which one:
    `foo.py:operator`.
    """
    try:
        operator: Operator = load_operator(target)
    except LoadError as error:
        raise click.ClickException(str(error)) from error
    if verbose:
        import logging

        logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(levelname)-7s %(name)s %(message)s")
    operator.run(kubeconfig=kubeconfig, context=context, master=master, namespaces=list(namespaces) or None)
