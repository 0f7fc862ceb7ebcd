"""Recorded facts about kube-apiserver: built-in resources, Go types, default roles.

`tools/generate_cluster` writes them.
"""

from __future__ import annotations

from importlib.resources import files

__all__ = ["read_data"]


def read_data(name: str) -> bytes:
    """Returns the content of a file of this package."""
    return files("kubewright.cluster.data").joinpath(name).read_bytes()
