"""Recorded facts about kube-apiserver: built-in resources, Go types, default roles.

`tools/generate_cluster` writes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["read_data"]

_FOLDER: Final = Path(__file__).parent  # importlib.resources would import zipfile and a dozen other modules


def read_data(name: str) -> bytes:
    """Returns the content of a file of this package."""
    return (_FOLDER / name).read_bytes()
