"""Masking of Secrets.

The values of a Secret are masked, including the annotation in which `kubectl apply` keeps a copy of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubewright.redaction import COPIES_OF_OBJECTS, REDACTED, is_secret

__all__ = ["REDACTED", "is_secret", "redact_secret", "without_managed_fields"]


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
        items = metadata["annotations"].items()
        annotations = {name: REDACTED if name in COPIES_OF_OBJECTS else value for name, value in items}
        shown["metadata"] = {**metadata, "annotations": annotations}
    return shown


def without_managed_fields(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the object without `metadata.managedFields`."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return dict(obj)
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}
