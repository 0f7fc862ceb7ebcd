"""`kubewright explore`: find the bugs of an operator that production would find."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kubewright.cli.common._completing import files
from kubewright.cli.common._exit_codes import CommandExit, WrongUse
from kubewright.cli.common._importing import importing
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import targets_or_current_project
from kubewright.counts import counted
from kubewright.explore import ExploreError, Report, replay, run_exploration
from kubewright.explore.reports import (
    finding_lines,
    html_report,
    json_report,
    junit_report,
    pytest_source,
    save_plan,
    summary_lines,
)
from kubewright.explore.workloads import SampleError
from kubewright.operator.loading import LoadError, samples_beside

__all__ = ["command"]


@click.command("explore", cls=ProjectCommand)
@click.argument("target", metavar="[FILE_OR_MODULE]", default=None, required=False, shell_complete=files)
@click.option(
    "--samples",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A YAML file or folder with an object that the operator reconciles. May be repeated. Default: config/samples"
    " of a project, or example-*.yaml next to the file.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="How long to explore.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    default=0,
    metavar="RUNS",
    help="The maximum number of runs. Default: no limit.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The random seed of the runs.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Parallel processes.")
@click.option(
    "--operations",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A YAML file with additional user steps. May be repeated.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Save the progress to FILE, and continue from it if the file exists.",
)
@click.option("--replay", "plan", type=click.Path(path_type=Path), metavar="FILE", help="Run a saved plan again.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write a plan and a pytest test for each finding.",
)
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write JUnit XML.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write an HTML report.")
@output_option
def command(
    target: str | None,
    samples: Sequence[Path],
    minutes: float,
    budget: int,
    seed: int,
    workers: int,
    operations: Sequence[Path],
    resume: Path | None,
    plan: Path | None,
    save: Path | None,
    junit: Path | None,
    html: Path | None,
    output: Output,
) -> None:
    """Run the operator thousands of times in virtual time, with crashes and other faults, and report its bugs.

    The exit code is 4 if there are findings.

    \b
    Example:
      kubewright explore foo.py --samples example-foo.yaml --minutes 3
      kubewright explore --replay explored/1-same-end-state.json
    """
    if plan is not None:
        _replay(plan, target or "", output)
        return
    where = target or targets_or_current_project(())[0]
    paths = list(samples) or _samples_beside(where)
    try:
        with importing(where), output.waiting("Exploring") as step:

            def progress(report: Report) -> None:
                step.detail = f"{counted(report.runs, 'run')}, {counted(len(report.findings), 'finding')}"

            try:
                report = run_exploration(
                    where,
                    paths,
                    minutes=minutes,
                    runs=budget,
                    seed=seed,
                    workers=workers,
                    operations=operations,
                    resume=resume,
                    progress=progress,
                )
            except ExploreError as error:  # the program was imported
                invalid_input = isinstance(error.__cause__, SampleError)
                raise (WrongUse if invalid_input else click.ClickException)(str(error)) from error
    except LoadError as error:
        raise WrongUse(str(error)) from error
    _show(report, where, paths, save, output)
    if junit is not None:
        _write(junit, junit_report(report, where))
    if html is not None:
        _write(html, html_report(report, where))
    output.document(**json_report(report))
    if report.findings:
        raise click.exceptions.Exit(CommandExit.FOUND)


def _replay(plan: Path, target: str, output: Output) -> None:
    try:
        with output.waiting("Replaying"):
            found = replay(plan, target=target)
    except FileNotFoundError as error:
        raise WrongUse(f"there is no file {plan}") from error
    except (LoadError, ValueError) as error:
        raise WrongUse(str(error)) from error
    except (ExploreError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for number, finding in enumerate(found, 1):
        for line in finding_lines(finding, number):
            output.line(line)
    if not found:
        output.line("The plan reproduces no finding.")
    output.document(findings=[{"oracle": each.oracle, "summary": each.summary} for each in found])
    if found:
        raise click.exceptions.Exit(CommandExit.FOUND)


def _show(report: Report, where: str, samples: Sequence[Path], save: Path | None, output: Output) -> None:
    for number, finding in enumerate(report.findings, 1):
        command_line = ""
        if save is not None and finding.plan is not None:
            save.mkdir(parents=True, exist_ok=True)
            path = save / f"{number}-{finding.oracle}.json"
            save_plan(path, where, tuple(str(sample) for sample in samples), finding)
            _write(save / f"test_{number}_{finding.oracle.replace('-', '_')}.py", pytest_source(finding, path))
            command_line = f"kubewright explore --replay {path}"
        for line in finding_lines(finding, number, command_line):
            output.line(line)
    for line in summary_lines(report):
        output.line(line)
    output.line(_count(len(report.findings)))


def _count(findings: int) -> str:
    return f"{counted(findings, 'finding')}." if findings else "No findings."


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error


def _samples_beside(target: str) -> list[Path]:
    found = samples_beside([target], Path.cwd())
    if not found:
        raise WrongUse("there are no samples: name a YAML file with --samples")
    return found
