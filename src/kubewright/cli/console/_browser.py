"""`kubewright ui --open`: open a browser."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

import click

from kubewright.cli.common._output import Output

__all__ = ["opened", "wants_browser"]


def wants_browser(asked: bool | None, output: Output) -> bool:
    """Returns whether to open a browser. Default: on a terminal with a display."""
    if asked is not None:
        return asked
    has_display = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")) or sys.platform == "darwin"
    return has_display and sys.stdout.isatty() and not output.json


@contextlib.contextmanager
def opened(address: str) -> Iterator[None]:
    """Opens a browser through a private file: all users of the machine can see the arguments of a process."""
    import webbrowser

    with tempfile.TemporaryDirectory(prefix="kubewright-") as folder:
        file = Path(folder) / "console.html"
        file.touch(0o600)
        file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">', "utf-8")
        if not webbrowser.open(file.as_uri()):
            click.echo("Could not open a browser; open the address yourself.", err=True)
        yield
