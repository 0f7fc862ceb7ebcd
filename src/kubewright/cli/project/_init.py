"""`kubewright init`: create a project."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.project._plans import print_result, write_plan
from kubewright.scaffold import RECORD, Plan, Record, ScaffoldError, new_project, read_text

__all__ = ["command"]


@click.command("init")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
@click.option("--domain", metavar="NAME", help="The suffix of the API groups. Default: example.com.")
@click.option("--repo", default="", metavar="URL", help="The URL of the source repository.")
@click.option("--name", help="The project's name. Default: the name of the folder.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@output_option
def command(folder: Path, domain: str | None, repo: str, name: str | None, force: bool, output: Output) -> None:
    """Create a project in FOLDER. Default: the current folder.

    A project has a package with an operator, passing tests, a Makefile, a Dockerfile and a CI workflow. Add kinds with
    `kubewright create api`. Running init again is safe: files that differ are never overwritten without --force.

    \b
    Example:
      kubewright init guestbook --domain my.domain
      cd guestbook
      kubewright create api --group webapp --version v1 --kind Guestbook
      make test
    """
    try:
        found = Record.find(folder)
        wanted = name or (found.name if found else folder.resolve().name.lower().replace("_", "-"))
        if domain is None:
            domain = found.domain if found else "example.com"
        if found and (found.name, found.domain) != (wanted, domain) and not force:
            raise ScaffoldError(
                f"there is already a project here: {found.name}, domain {found.domain}. Name another folder, or"
                " overwrite it with --force"
            )
        plan = new_project(wanted, domain, repo=repo or (found.repo if found else ""), like=found)
        if found:
            _keep(plan, found, folder, force=force)
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    done = write_plan(plan, folder, force=force)
    there = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))}, then "
    print_result(done, folder, output, f"{there}kubewright create api --group GROUP --version v1 --kind KIND")


def _keep(plan: Plan, found: Record, folder: Path, *, force: bool) -> None:
    """Keeps files of an existing project, and counts them as unchanged."""
    kept = [] if force else [RECORD]  # the record was read and says the same
    if found.kinds:
        kept = [RECORD, f"{found.package}/__init__.py"]  # kinds were added to these files
    for path in kept:
        plan.files.pop(path, None)
        if (there := read_text(folder, path)) is not None:
            plan.changes[path] = there
