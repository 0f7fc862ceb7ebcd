"""The version of Kubewright. The only place where it is written: the package, the manifests and the release use it."""

from __future__ import annotations

__all__ = ["TESTED_KUBERNETES", "VERSION"]

VERSION = "0.1.0"

TESTED_KUBERNETES = ((1, 34), (1, 37))
"""The oldest and the newest minor version that the tests have passed on; docs/compatibility.md has the results."""
