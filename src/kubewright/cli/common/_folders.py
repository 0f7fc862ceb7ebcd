"""Files and folders that commands write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["OUT_FILE", "OUT_FOLDER", "OUT_PATH"]


class _Out(click.Path):
    """What is made if it is not there. An empty name is refused."""

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):  # such as of a variable that is not set; it would be the folder that the user is in
            kinds = [*(["file"] if self.file_okay else ()), *(["folder"] if self.dir_okay else ())]
            self.fail(f"it is empty: name a {' or a '.join(kinds)}.", param, ctx)
        return super().convert(value, param, ctx)


OUT_FILE = _Out(dir_okay=False, path_type=Path)
OUT_FOLDER = _Out(file_okay=False, path_type=Path)
OUT_PATH = _Out(path_type=Path)
"""Either of them."""
