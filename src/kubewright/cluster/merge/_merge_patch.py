"""JSON Merge Patch (RFC 7386)."""

from __future__ import annotations

from typing import Any

from kubewright.cluster.merge._errors import bad_request, cannot_unmarshal, refusing_depth

__all__ = ["merge_patch"]


@refusing_depth
def merge_patch(document: Any, patch: Any) -> Any:
    """Returns the patched document; null removes a member, lists are replaced.

    Neither argument is changed. Raises `Refused` (400) for a patch that is not an object.
    """
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise cannot_unmarshal(patch, "map[string]interface {}")
    return _merged(document, patch)


def _merged(document: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return _without_nulls(patch) if not isinstance(document, dict) else patch
    if not isinstance(document, dict):
        return _without_nulls(patch)
    result = dict(document)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif result.get(name) is None:
            result[name] = _without_nulls(value)
        else:
            result[name] = _merged(result[name], value)
    return result


def _without_nulls(value: Any) -> Any:
    """Returns a new value without the nulls in objects, which would remove members; nulls in lists stay."""
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
