"""The folder with the style sheets and components of the pages."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["STATIC"]

STATIC: Final = Path(__file__).parents[1] / "_static"
