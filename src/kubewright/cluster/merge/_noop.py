"""Writes that change nothing."""

from __future__ import annotations

from typing import Any

from kubewright.api.wire import equal_json

__all__ = ["keep_times", "same"]


def same(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Returns whether both are equal. If so, nothing is written and there is no new revision."""
    return equal_json(old, new)


def keep_times(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Returns the new object, with the times of the old one if only times in managedFields differ.

    As a result, an apply or update that changes nothing leaves the object unchanged.
    """
    before = old.get("metadata", {}).get("managedFields") or []
    after = new.get("metadata", {}).get("managedFields") or []
    if not after or len(before) != len(after) or not _same_but_times(before, after):
        return new
    kept = new | {"metadata": new["metadata"] | {"managedFields": before}}
    return kept if equal_json(old, kept) else new


def _same_but_times(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    return all(
        equal_json({**one, "time": None}, {**other, "time": None}) for one, other in zip(before, after, strict=True)
    )
