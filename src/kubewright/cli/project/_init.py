"""`kubewright init`: a new project."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.project._plans import carried_out, tell
from kubewright.scaffold import RECORD, Plan, Record, ScaffoldError, new_project, read_text

__all__ = ["command"]


@click.command("init")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
@click.option("--domain", metavar="NAME", help="What the API groups of its kinds end with; example.com unless given.")
@click.option("--repo", default="", metavar="URL", help="Where its code is kept.")
@click.option("--name", help="What it is called; the folder's name unless given.")
@click.option("--force", is_flag=True, help="Overwrite files that are in the way.")
@output_option
def command(folder: Path, domain: str | None, repo: str, name: str | None, force: bool, output: Output) -> None:
    """Make a new project in FOLDER, the current one unless named.

    It has a package with an operator, tests that pass, a Makefile, a Dockerfile and a CI workflow. Kinds come with
    `kubewright create api`. To do it twice is harmless; files that differ are never overwritten without --force.

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
                f"there is a project here: {found.name}, of the domain {found.domain}. Name another folder, or"
                " overwrite it with --force"
            )
        plan = new_project(wanted, domain, repo=repo or (found.repo if found else ""), like=found)
        if found:
            _keep(plan, found, folder, force=force)
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    done = carried_out(plan, folder, force=force)
    there = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))}, and "
    tell(done, folder, output, f"{there}kubewright create api --group GROUP --version v1 --kind KIND")


def _keep(plan: Plan, found: Record, folder: Path, *, force: bool) -> None:
    """Let files of a project that is there stay as they are, and count as such."""
    kept = [] if force else [RECORD]  # it is read, and says the same
    if found.kinds:
        kept = [RECORD, f"{found.package}/__init__.py"]  # kinds were added to them since
    for path in kept:
        plan.files.pop(path, None)
        if (there := read_text(folder, path)) is not None:
            plan.changes[path] = there
