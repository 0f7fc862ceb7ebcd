"""Folders that commands write into."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["OUT_FOLDER"]


class _OutFolder(click.Path):
    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):  # such as of a variable that is not set; it would be the folder that the user is in
            self.fail("it is empty: name a folder.", param, ctx)
        return super().convert(value, param, ctx)


OUT_FOLDER = _OutFolder(file_okay=False, path_type=Path)
"""A folder that is made if it is not there. An empty name is refused."""
