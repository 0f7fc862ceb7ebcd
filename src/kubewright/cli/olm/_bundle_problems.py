"""What is wrong with a bundle, told: lines for people, or a document for scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubewright.cli.common._exit_codes import CommandExit, WrongUse
from kubewright.cli.common._output import Output

if TYPE_CHECKING:
    from kubewright.olm import Suite

__all__ = ["counted", "report_option", "tell_problems"]

_SUITES = ("format", "bundle", "scorecard", "operatorhub")
_SIGNS = {"error": click.style("error", fg="red"), "warning": click.style("warning", fg="yellow")}


def report_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--suite`."""
    return click.option(
        "--suite",
        "suites",
        type=click.Choice(_SUITES),
        multiple=True,
        help="What the bundle is checked for: format and bundle unless given; several times for several.",
    )(command)


def tell_problems(folder: Path, suites: Sequence[Suite], output: Output, *, made: bool = False) -> None:
    """Check the bundle in a folder and tell what is wrong. Errors end the command with 1.

    A bundle that was just made is also checked by the scorecard's rules, whose errors are warnings here.
    """
    from kubewright.olm import DEFAULT_SUITES, Bundle, BundleError, validate

    try:
        bundle = Bundle.read(folder)
    except BundleError as error:
        raise WrongUse(str(error)) from error
    report = validate(bundle, suites or DEFAULT_SUITES)
    problems = [(one.level, one) for one in report.problems]
    if made and "scorecard" not in suites and report.ok:
        problems += [("warning", one) for one in validate(bundle, ["scorecard"]).problems]
    for level, one in problems:
        place = folder / one.file if one.file else folder
        output.line(f"{place}: {_without_file(str(one), one.file)}", sign=_SIGNS[level])
    found = [{**asdict(one), "level": level} for level, one in problems]
    steps = {"steps": output.steps} if made else {}
    output.document(folder=str(folder), ok=report.ok, problems=found, **steps)
    if not report.ok:
        if output.json:
            raise click.exceptions.Exit(CommandExit.FAILED)
        raise click.ClickException(f"{folder} is no valid bundle: {counted(report.errors, 'error')}, see above")
    warnings = f", {counted(problems, 'warning')}" if problems else ""
    output.line(f"{folder} is a valid bundle{warnings}.")


def counted(found: Sequence[object], what: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{len(found)} {what}{'' if len(found) == 1 else 's'}"


def _without_file(text: str, file: str) -> str:
    return text.removeprefix(f"{file}: ") if file else text
