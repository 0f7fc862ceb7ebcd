"""Masking of Secrets.

The values of a Secret are masked, including the annotation in which `kubectl apply` keeps a copy of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["REDACTED", "is_secret", "redact_secret", "without_managed_fields"]

REDACTED: Final = "••••••••"
"""Replaces a masked value. It does not reveal the length."""

_COPIES: Final = ("kubectl.kubernetes.io/last-applied-configuration",)


def is_secret(obj: Mapping[str, Any]) -> bool:
    """Whether the object is a Secret."""
    return obj.get("kind") == "Secret" and obj.get("apiVersion") == "v1"


def redact_secret(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the object with secret values masked."""
    if not is_secret(obj):
        return dict(obj)
    shown = dict(obj)
    for field in ("data", "stringData"):
        values = shown.get(field)
        if isinstance(values, dict):
            shown[field] = dict.fromkeys(values, REDACTED)
        elif values is not None:
            shown[field] = REDACTED
    metadata = shown.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("annotations"), dict):
        annotations = {name: REDACTED if name in _COPIES else value for name, value in metadata["annotations"].items()}
        shown["metadata"] = {**metadata, "annotations": annotations}
    return shown


def without_managed_fields(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the object without `metadata.managedFields`."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return dict(obj)
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}
