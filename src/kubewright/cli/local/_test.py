"""`kubewright test`: the tests of a project, on the embedded cluster, on the real one, or on both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kubewright.cli.common._exit_codes import WrongUse
from kubewright.development import TestClusters, has_pytest, run_tests
from kubewright.scaffold import ScaffoldError

__all__ = ["command"]


@click.command("test", context_settings={"ignore_unknown_options": True})
@click.option(
    "--cluster",
    type=click.Choice(["embedded", "real", "both"]),
    default="embedded",
    show_default=True,
    help="An embedded cluster for each test, a real kube-apiserver, or first the one and then the other.",
)
@click.argument("arguments", metavar="[PYTEST_ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def command(cluster: TestClusters, arguments: Sequence[str]) -> None:
    """Run the tests of this project with pytest, which gets all other arguments.

    The real control plane is provided first, which takes minutes the first time. Ends as pytest does: 0 when all tests
    pass, 1 when some fail, 5 when there are none.

    \b
    Example:
      kubewright test
      kubewright test --cluster both -x tests/test_guestbook.py
    """
    if not has_pytest():
        raise click.ClickException("the tests need pytest, which is not installed: pip install pytest pytest-asyncio")
    if cluster != "embedded":
        from kubewright.testing import SetupError, setup_binaries

        try:
            setup_binaries()
        except SetupError as error:
            raise click.ClickException(str(error)) from error
    try:
        code = run_tests(Path.cwd(), cluster, arguments)
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    raise click.exceptions.Exit(code)
