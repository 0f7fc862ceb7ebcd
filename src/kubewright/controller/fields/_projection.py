"""An object reduced to the fields that a request names.

`projection` keeps the parts of an object that lie on the paths of a request. Fields that other clients added are left
out. Requested fields have the value that the server stores: `1000m` becomes `1`, and a merged list is reduced to the
requested elements. Two projections onto the same request are equal exactly when the object did not change at the
requested paths. Only the server can decide whether the stored values satisfy the request.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from kubewright.api.wire import canonical_json
from kubewright.diff import ListKeys

__all__ = ["KEY_DEFAULTS", "digest", "projection"]


KEY_DEFAULTS = {"protocol": "TCP"}
"""Defaults that the server sets for absent map keys. They let an element without such a key match its stored form."""


def projection(content: Any, requested: Any, list_keys: ListKeys) -> Any:
    """Returns the parts of `content` on the paths of `requested`. Both are plain JSON.

    - Maps are reduced key by key.
    - A list with map keys keeps the elements that `requested` names, each projected onto its counterpart.
    - A set keeps the elements that are in `requested`.
    - Any other list is atomic and kept whole.

    Elements keep the order of `content`, because order can matter to readers of the object.
    """
    if isinstance(requested, dict) and isinstance(content, dict):
        return {
            name: projection(content[name], wanted, list_keys.member(name))
            for name, wanted in requested.items()
            if name in content
        }
    if isinstance(requested, list) and isinstance(content, list):
        if keys := list_keys.here():
            return _by_keys(content, requested, keys, list_keys.element())
        if list_keys.is_set():
            wanted = {canonical_json(element) for element in requested}
            return [element for element in content if canonical_json(element) in wanted]
    return content


def digest(content: Any) -> bytes:
    """Returns a short fingerprint of plain JSON. It does not depend on the order of map keys."""
    return blake2b(canonical_json(content), digest_size=16).digest()


def _by_keys(content: list[Any], requested: list[Any], keys: tuple[str, ...], list_keys: ListKeys) -> list[Any]:
    wanted = {identity: element for element in requested if (identity := _identity(element, keys)) is not None}
    if len(wanted) < len(requested):
        return content  # elements with the same keys cannot be matched, so nothing can be left out
    return [
        projection(element, wanted[identity], list_keys)
        for element in content
        if (identity := _identity(element, keys)) in wanted
    ]


def _identity(element: Any, keys: tuple[str, ...]) -> bytes | None:
    if not isinstance(element, dict):
        return None
    return canonical_json([element.get(key, KEY_DEFAULTS.get(key)) for key in keys])
