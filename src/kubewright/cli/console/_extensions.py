"""`kubewright ui --extension`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubewright.cli.common._exit_codes import WrongUse

if TYPE_CHECKING:
    from kubewright.console import Extension

__all__ = ["load_extensions"]


def load_extensions(names: Sequence[str]) -> list[Extension]:
    """Imports the extensions with these names, also from the current folder. Raises `WrongUse` with the reason."""
    if not names:
        return []
    from kubewright.console import ExtensionError
    from kubewright.console.extensions import check_extensions, load_extension

    sys.path.insert(0, os.getcwd())
    try:
        return [*check_extensions(load_extension(name) for name in names)]
    except ExtensionError as error:
        raise WrongUse(f"--extension: {error}") from error
