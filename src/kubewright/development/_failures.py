"""An error in the user's own modules, shown with its place and without the lines that led there."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

__all__ = ["place_of", "told"]

_OURS: Final = str(Path(__file__).parents[1])


def told(error: BaseException) -> str:
    """The traceback, from the user's module on."""
    trace = _from_the_module_on(error.__traceback__)
    return "".join(traceback.format_exception(type(error), error.with_traceback(trace), trace))


def place_of(error: BaseException) -> tuple[str, int]:
    """The file and the line: of a syntax error where it is, else of the last line of the user's code that ran."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 0
    found = ("", 0)
    trace = _from_the_module_on(error.__traceback__)
    while trace is not None:
        if not _is_ours(trace.tb_frame.f_code.co_filename):
            found = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return found


def _from_the_module_on(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that lead to the module: ours, and those of Python's import."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(file: str) -> bool:
    return file.startswith((_OURS, "<frozen importlib")) or file.endswith("importlib/__init__.py")
