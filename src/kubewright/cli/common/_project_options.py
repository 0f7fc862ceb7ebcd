"""Options of commands that generate or deploy the objects of a project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import click

__all__ = ["image_option", "namespace_option", "out_option", "overwrite_option"]

_Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

namespace_option: _Decorator = click.option(
    "--namespace", metavar="NAME", help="The operator's namespace. Default: <operator>-system."
)
"""Adds `--namespace` to a command."""


def image_option(
    what: str = "The operator's image", default: str = "the image of the last build, or <operator>:<version>"
) -> _Decorator:
    """Adds `--image` to a command."""
    return click.option("--image", metavar="IMAGE", help=f"{what}. Default: {default}.")


def out_option(kind: click.Path, default: str, what: str) -> _Decorator:
    """Adds `--out` to a command: the file or folder that it writes."""
    return click.option(
        "--out",
        type=kind,
        default=Path(default),
        show_default=True,
        metavar="FOLDER" if kind.dir_okay else "FILE",
        help=what,
    )


def overwrite_option(what: str = "existing files that were") -> _Decorator:
    """Adds `--overwrite` to a command that does not replace foreign files by default."""
    return click.option("--overwrite", is_flag=True, help=f"Replace {what} not generated.")
