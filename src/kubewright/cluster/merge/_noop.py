"""Writes that change nothing."""

from __future__ import annotations

from typing import Any

from kubewright.cluster.merge._fields_of import equal

__all__ = ["keep_times", "same"]


def same(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether both are the same object; then nothing is written and there is no new revision."""
    return equal(old, new)


def keep_times(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The new object; with the times of the old one if nothing differs but times in managedFields.

    So an apply or update that changes nothing leaves the object as it is.
    """
    before = old.get("metadata", {}).get("managedFields") or []
    after = new.get("metadata", {}).get("managedFields") or []
    if not after or len(before) != len(after) or not _same_but_times(before, after):
        return new
    kept = new | {"metadata": new["metadata"] | {"managedFields": before}}
    return kept if equal(old, kept) else new


def _same_but_times(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    return all(equal({**one, "time": None}, {**other, "time": None}) for one, other in zip(before, after, strict=True))
