"""The facts that are packaged with the embedded cluster; see `tools/generate_cluster`."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["read_data"]


def read_data(name: str) -> bytes:
    """The content of a file in `_data`."""
    return files("kubewright.cluster").joinpath("_data", name).read_bytes()
