"""`ProjectCommand`: commands that work in the folder of the user's project, like git in a repository.

A command with `cls=ProjectCommand` uses the project of the current folder, unless an argument names a program or a
bundle. It changes to the project's folder: its defaults are there, its program is imported from there, and the paths
that it prints are relative to it. One line on standard error names the folder. Paths in options and in environment
variables stay relative to the folder in which the user called the command.
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

__all__ = ["ProjectCommand", "current_project_folder", "no_project_message", "require_project"]

_PATHS: Final = ("FILE", "FOLDER", "PATH")
"""The metavars of options that take a path."""
_GIVEN: Final = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)


class ProjectCommand(click.Command):
    """A command that works in the folder of the current project, unless an argument names its subject."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command in its folder."""
        here = Path.cwd()
        folder = None if self._has_target(ctx) else current_project_folder()
        if folder is None or folder == here:
            return super().invoke(ctx)
        click.echo(f"In {folder}, where {RECORD} is:", err=True)
        for parameter in self.params:
            name = parameter.name or ""
            if _takes_path(parameter) and ctx.get_parameter_source(name) in _GIVEN:
                ctx.params[name] = _from(here, ctx.params[name])
        with _variables_from(here), contextlib.chdir(folder):
            return super().invoke(ctx)

    def _has_target(self, ctx: click.Context) -> bool:
        arguments = [each.name or "" for each in self.params if isinstance(each, click.Argument)]
        return any(ctx.params.get(name) and ctx.get_parameter_source(name) in _GIVEN for name in arguments)


def current_project_folder() -> Path | None:
    """Returns the folder of the current project, or None."""
    try:
        return project_folder(Path.cwd())
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error


def require_project() -> Path:
    """Returns the folder of the current project. Raises `WrongUse` outside of a project."""
    folder = Path.cwd()
    if not (folder / RECORD).is_file():
        raise WrongUse(f"{no_project_message()}: run this in a project's folder, or create one with `kubewright init`")
    return folder


def no_project_message() -> str:
    """Returns the message that no project was found, with the folders that were searched."""
    return f"there is no {RECORD} in {Path.cwd()}, nor in a folder above it"


def _takes_path(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and (
        isinstance(parameter.type, click.Path) or parameter.metavar in _PATHS
    )


def _from(here: Path, given: Any) -> Any:
    """Returns paths relative to a folder. Absolute paths are unchanged."""
    if isinstance(given, tuple):
        return tuple(_from(here, one) for one in given)
    if not given:
        return given
    return type(given)(os.path.normpath(here / given))


@contextlib.contextmanager
def _variables_from(here: Path) -> Iterator[None]:
    """Keeps environment variables with relative paths valid in another folder."""
    from kubewright.operator.settings import SETTINGS

    names = ["KUBECONFIG", *(each.variable for each in SETTINGS.values() if each.type.metavar in _PATHS)]
    before = {name: os.environ[name] for name in names if os.environ.get(name)}
    for name, value in before.items():
        os.environ[name] = os.pathsep.join(each and str(_from(here, each)) for each in value.split(os.pathsep))
    try:
        yield
    finally:
        os.environ.update(before)
