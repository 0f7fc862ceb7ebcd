"""`kubewright test`: run the tests of a project on embedded clusters, a real one, or both."""

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
    help="An embedded cluster for each test, a real kube-apiserver, or one after the other.",
)
@click.argument("arguments", metavar="[PYTEST_ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def command(cluster: TestClusters, arguments: Sequence[str]) -> None:
    """Run the tests of this project with pytest. All other arguments are passed to pytest.

    For a real cluster, the control plane is installed first, which takes minutes the first time. The exit code is
    pytest's: 0 if all tests pass, 1 if some fail, 5 if there are none.

    \b
    Example:
      kubewright test
      kubewright test --cluster both -x tests/test_guestbook.py
    """
    if not has_pytest():
        raise click.ClickException("pytest is not installed: pip install pytest pytest-asyncio")
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
