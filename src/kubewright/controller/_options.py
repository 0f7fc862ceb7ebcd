"""Kinds as options."""

from __future__ import annotations

from kubewright.api import Object, ResourceInfo, info_of

__all__ = ["check_kind"]


def check_kind(kind: object, what: str) -> ResourceInfo:
    """The kind's address; a clear error for what is no kind."""
    if not (isinstance(kind, type) and issubclass(kind, Object)):
        raise TypeError(f"{what} takes a kind, such as apps.Deployment or a class with @resource, not {kind!r}")
    return info_of(kind)
