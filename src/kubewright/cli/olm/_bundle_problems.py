"""Prints the problems of a bundle: lines for people, or a document for scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubewright.cli.common._exit_codes import CommandExit, WrongUse
from kubewright.cli.common._output import Output
from kubewright.counts import counted

if TYPE_CHECKING:
    from kubewright.olm import Suite

__all__ = ["print_problems", "report_option"]

_SUITES = ("format", "bundle", "scorecard", "operatorhub")
_SIGNS = {"error": click.style("error", fg="red"), "warning": click.style("warning", fg="yellow")}


def report_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--suite` to a command."""
    return click.option(
        "--suite",
        "suites",
        type=click.Choice(_SUITES),
        multiple=True,
        help="The checks of the bundle. May be repeated. Default: format and bundle.",
    )(command)


def print_problems(folder: Path, suites: Sequence[Suite], output: Output, *, made: bool = False) -> None:
    """Validates the bundle in a folder and prints its problems. Ends the command with 1 if there are errors.

    A bundle that was just generated is also checked by the scorecard's rules; their errors are warnings here.
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
        raise click.ClickException(f"{folder} is not a valid bundle: {counted(len(report.errors), 'error')}, see above")
    warnings = f", {counted(len(problems), 'warning')}" if problems else ""
    output.line(f"{folder} is a valid bundle{warnings}.")


def _without_file(text: str, file: str) -> str:
    return text.removeprefix(f"{file}: ") if file else text
