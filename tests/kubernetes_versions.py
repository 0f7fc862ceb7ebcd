"""Conditions on the version of the real control plane, because `make compat` runs tests on several versions."""

from __future__ import annotations

from typing import Final

import pytest

from kubewright.testing.binaries import kubernetes_version

__all__ = ["MINOR", "needs_kubernetes"]

MINOR: Final = int(kubernetes_version().split(".")[1])
"""The minor version of the control plane in this run."""


def needs_kubernetes(minor: int, feature: str) -> pytest.MarkDecorator:
    """Skips a test on a control plane that is too old for a feature."""
    return pytest.mark.skipif(minor > MINOR, reason=f"{feature} exist since Kubernetes 1.{minor}")
