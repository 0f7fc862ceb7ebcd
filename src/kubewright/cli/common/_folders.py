"""Files and folders that commands write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["OUT_FILE", "OUT_FOLDER", "OUT_PATH"]


class _Out(click.Path):
    """A path that is created if it does not exist. An empty path is rejected."""

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):  # as from an unset variable: it would mean the current folder
            kinds = [*(["file"] if self.file_okay else ()), *(["folder"] if self.dir_okay else ())]
            self.fail(f"it is empty: name a {' or a '.join(kinds)}.", param, ctx)
        return super().convert(value, param, ctx)


OUT_FILE = _Out(dir_okay=False, path_type=Path)
OUT_FOLDER = _Out(file_okay=False, path_type=Path)
OUT_PATH = _Out(path_type=Path)
"""A file or a folder."""
