"""Where a command stands: in the folder of its project, whichever folder of it the user is in, as with git.

A command with `cls=ProjectCommand` that is not told which program or bundle it is about means the project that the user
is in. It works in the folder of that project: its defaults are there, its program is imported from there, and the paths
that it tells are below it, which one line on standard error says. What the user gives stays relative to where the user
stands: options, and the variables that name files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from kubewright.cli.common._exit_codes import WrongUse
from kubewright.scaffold import RECORD, ScaffoldError, project_folder

__all__ = ["ProjectCommand", "nowhere", "own_folder", "this_project"]

_PATHS: Final = ("FILE", "FOLDER", "PATH")
"""What options that take a path call it."""
_GIVEN: Final = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)


class ProjectCommand(click.Command):
    """A command that works in the folder of the project that the user is in, unless it is told what it is about."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, in the folder that it is about."""
        here = Path.cwd()
        folder = None if self._is_told(ctx) else own_folder()
        if folder is None or folder == here:
            return super().invoke(ctx)
        click.echo(f"In {folder}, where {RECORD} is:", err=True)
        for parameter in self.params:
            name = parameter.name or ""
            if _takes_path(parameter) and ctx.get_parameter_source(name) in _GIVEN:
                ctx.params[name] = _from(here, ctx.params[name])
        with _variables_from(here), contextlib.chdir(folder):
            return super().invoke(ctx)

    def _is_told(self, ctx: click.Context) -> bool:
        arguments = [each.name or "" for each in self.params if isinstance(each, click.Argument)]
        return any(ctx.params.get(name) and ctx.get_parameter_source(name) in _GIVEN for name in arguments)


def own_folder() -> Path | None:
    """The folder of the project that the user is in, or None."""
    try:
        return project_folder(Path.cwd())
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error


def this_project() -> Path:
    """The folder that a `ProjectCommand` works in, which must be a project's."""
    folder = Path.cwd()
    if not (folder / RECORD).is_file():
        raise WrongUse(f"{nowhere()}: run this in a project's folder, or make one with `kubewright init`")
    return folder


def nowhere() -> str:
    """That no project was found, and where one was looked for."""
    return f"there is no {RECORD} in {Path.cwd()}, nor in a folder above it"


def _takes_path(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and (
        isinstance(parameter.type, click.Path) or parameter.metavar in _PATHS
    )


def _from(here: Path, given: Any) -> Any:
    """A path, or several, from that folder: as they were if absolute."""
    if isinstance(given, tuple):
        return tuple(_from(here, one) for one in given)
    if not given:
        return given
    return type(given)(os.path.normpath(here / given))


@contextlib.contextmanager
def _variables_from(here: Path) -> Iterator[None]:
    """Let the variables that name files mean the same in another folder."""
    from kubewright.operator.settings import SETTINGS

    names = ["KUBECONFIG", *(each.variable for each in SETTINGS.values() if each.type.metavar in _PATHS)]
    before = {name: os.environ[name] for name in names if os.environ.get(name)}
    for name, value in before.items():
        os.environ[name] = os.pathsep.join(each and str(_from(here, each)) for each in value.split(os.pathsep))
    try:
        yield
    finally:
        os.environ.update(before)
