"""An object seen through what was asked of it: only the fields that the asker cares about.

`projection` keeps of an object what lies on the paths of `asked`. So a field that somebody else added does not show,
while a field that was asked for shows as the server holds it: `1000m` as `1`, a list merged with what others put in it
reduced to one's own elements. Two projections onto the same asked paths are equal exactly when the object did not
change where it was asked for; whether the values are those that were asked for is for the server to say.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from kubewright.diff import ListKeys

__all__ = ["KEY_DEFAULTS", "digest", "projection"]

_canonical = msgspec.json.Encoder(order="deterministic").encode

KEY_DEFAULTS = {"protocol": "TCP"}
"""Map keys that the server fills in where they are absent, so that an element without one still finds its own."""


def projection(content: Any, asked: Any, place: ListKeys) -> Any:
    """What `content` holds on the paths of `asked`; both are plain JSON, `place` knows what kind of lists they have.

    Maps are taken key by key. Of a list with map keys, the elements that `asked` names are kept, each projected onto
    its counterpart; of a set, the elements that `asked` has; in both cases in the order of `content`, because order can
    matter to whoever reads the object. Any other list is atomic and kept whole.
    """
    if isinstance(asked, dict) and isinstance(content, dict):
        return {
            name: projection(content[name], wanted, place.member(name))
            for name, wanted in asked.items()
            if name in content
        }
    if isinstance(asked, list) and isinstance(content, list):
        if keys := place.here():
            return _by_keys(content, asked, keys, place.element())
        if place.is_set():
            wanted = {_canonical(element) for element in asked}
            return [element for element in content if _canonical(element) in wanted]
    return content


def digest(content: Any) -> bytes:
    """A short fingerprint of plain JSON, the same for every order of its maps."""
    return blake2b(_canonical(content), digest_size=16).digest()


def _by_keys(content: list[Any], asked: list[Any], keys: tuple[str, ...], place: ListKeys) -> list[Any]:
    wanted = {identity: element for element in asked if (identity := _identity(element, keys)) is not None}
    if len(wanted) < len(asked):
        return content  # these elements cannot be told apart, so nothing can be left out
    return [
        projection(element, wanted[identity], place)
        for element in content
        if (identity := _identity(element, keys)) in wanted
    ]


def _identity(element: Any, keys: tuple[str, ...]) -> bytes | None:
    if not isinstance(element, dict):
        return None
    return _canonical([element.get(key, KEY_DEFAULTS.get(key)) for key in keys])
