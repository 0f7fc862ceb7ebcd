"""The version of Kubewright."""

from __future__ import annotations

__all__ = ["VERSION"]

VERSION = "0.1.0.dev0"
