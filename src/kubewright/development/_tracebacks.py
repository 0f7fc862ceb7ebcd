"""Tracebacks of errors in the user's modules, without the frames of Kubewright."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from kubewright.suggestions import nearest

__all__ = ["error_location", "user_traceback"]

_OURS: Final = str(Path(__file__).parents[1])


def user_traceback(error: BaseException) -> str:
    """Returns the traceback from the user's module to its last line; all of it with KUBEWRIGHT_DEBUG."""
    trace = error.__traceback__
    if os.environ.get("KUBEWRIGHT_DEBUG"):
        return "".join(traceback.format_exception(type(error), error, trace))
    trace = _from_the_module_on(trace)
    shown = traceback.TracebackException(type(error), error.with_traceback(trace), trace, compact=True)
    while len(shown.stack) > 1 and _is_ours(shown.stack[-1].filename):
        shown.stack.pop()
    return "".join(shown.format()).rstrip("\n") + f"{_meant(error)}\n"


def _meant(error: BaseException) -> str:
    """Returns a suggestion for a misspelled attribute. Python 3.12 and later add it themselves."""
    if sys.version_info >= (3, 12) or not isinstance(error, AttributeError) or error.name is None:
        return ""
    meant = nearest(error.name, dir(error.obj))
    return f". Did you mean: {meant!r}?" if meant else ""


def error_location(error: BaseException) -> tuple[str, int]:
    """Returns the file and line of an error: of a syntax error, or of the last line of the user's code that ran."""
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
    """Returns a traceback without the frames that lead to the module: those of Kubewright and of Python's import."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(file: str) -> bool:
    return file.startswith((_OURS, "<frozen importlib")) or file.endswith("importlib/__init__.py")
