"""What becomes of an error in the user's own module, while it is imported: its place is shown."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import click

from kubewright.operator._load import LoadError

__all__ = ["importing"]

_OURS = str(Path(__file__).parents[1])


@contextlib.contextmanager
def importing(*targets: str) -> Iterator[None]:
    """Import files or modules inside; what they raise is shown with the lines of their code, and fails the command.

    `LoadError` passes: it says by itself what is missing.
    """
    try:
        yield
    except (LoadError, click.ClickException):
        raise
    except Exception as error:
        lines = traceback.format_exception(error.with_traceback(_from_the_module_on(error.__traceback__)))
        click.echo("".join(lines), err=True, nl=False)
        raise click.ClickException(f"{', '.join(targets)} cannot be imported, see above") from error


def _from_the_module_on(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that lead to the module: ours, and those of Python's import."""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((_OURS, "<frozen importlib")) and not file.endswith("importlib/__init__.py"):
            break
        trace = trace.tb_next
    return trace
