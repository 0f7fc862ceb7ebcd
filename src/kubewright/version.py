"""The version of Kubewright. The only place where it is written: the package, the manifests and the release use it."""

from __future__ import annotations

__all__ = ["VERSION"]

VERSION = "0.1.0"
