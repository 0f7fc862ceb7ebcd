"""Tracebacks of errors in the user's modules, without the frames of Kubewright."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from kubewright.suggestions import nearest

__all__ = ["error_location", "fold_frames", "user_traceback"]

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
    return "".join(shown.format()).rstrip("\n") + f"{_suggestion(error)}\n"


def _suggestion(error: BaseException) -> str:
    """Returns a suggestion for a misspelled attribute. Python 3.12 and later add it themselves."""
    if sys.version_info >= (3, 12) or not isinstance(error, AttributeError) or error.name is None:
        return ""
    meant = nearest(error.name, dir(error.obj))
    return f". Did you mean: {meant!r}?" if meant else ""


def fold_frames(text: str) -> list[str]:
    """Returns the lines of a formatted traceback without the frames of Kubewright before the first frame of the user.

    Later frames of Kubewright are folded into one line. A traceback without frames of the user is kept.
    """
    lines = text.rstrip().splitlines()
    if not any(_is_frame(line) and not _is_our_frame(line) for line in lines):
        return lines
    kept: list[str] = []
    folded, seen_user = 0, False
    ours = False
    for line in lines:
        if _is_frame(line):
            ours = _is_our_frame(line)
            seen_user = seen_user or not ours
            folded += ours
        elif not line.startswith("    "):
            ours = False  # the code below a frame is indented, the message of the error is not
        if ours:
            continue
        if folded and seen_user and kept and _is_frame_part(kept[-1]):
            kept.append(f"  ({folded} frames of Kubewright)" if folded > 1 else "  (1 frame of Kubewright)")
        folded = 0
        kept.append(line)
    return kept


def _is_frame(line: str) -> bool:
    return line.startswith('  File "')


def _is_our_frame(line: str) -> bool:
    return line.startswith(f'  File "{_OURS}{os.sep}')


def _is_frame_part(line: str) -> bool:
    return line.startswith("  ")


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
