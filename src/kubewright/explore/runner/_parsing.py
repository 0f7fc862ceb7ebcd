"""`is_parsing`: whether the program failed to parse a value by mistake."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["is_parsing"]

_LIBRARY: Final = sysconfig.get_paths()["stdlib"]
_KUBEWRIGHT: Final = str(Path(__file__).parents[2])


def is_parsing(error: BaseException) -> bool:
    """Returns whether a call of the program raised an error of parsing, as in `int("1Gi")`.

    A program that raises such an error itself rejects a value on purpose. Errors of Kubewright may be part of a retry.
    """
    if not isinstance(error, ValueError | ArithmeticError | msgspec.MsgspecError):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    while frames and frames[-1].filename.startswith((_LIBRARY, "<")) and "site-packages" not in frames[-1].filename:
        frames.pop()
    if not frames or frames[-1].filename.startswith(_KUBEWRIGHT):
        return False
    return not (frames[-1].line or "").startswith("raise")
