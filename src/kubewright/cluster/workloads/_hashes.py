"""Short hashes of templates: equal templates have equal hashes."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.api import core, to_dict

__all__ = ["POD_TEMPLATE_HASH", "hash_of", "same_template"]

POD_TEMPLATE_HASH: Final = "pod-template-hash"

# Characters that form no words, as in all generated names of Kubernetes.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193


def hash_of(value: Any, collisions: int | None = None) -> str:
    """Returns a hash of up to ten characters, different for each number of collisions.

    The real controllers hash Go's representation of structs. These hashes use the same format, but their values differ.
    """
    encoded = msgspec.json.encode(value, order="sorted")
    if collisions:
        encoded += collisions.to_bytes(4, "little")
    number = _OFFSET
    for byte in encoded:
        number = (number ^ byte) * _PRIME & 0xFFFFFFFF
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def same_template(one: core.PodTemplateSpec, other: core.PodTemplateSpec) -> bool:
    """Returns whether two templates create equal pods, apart from the hash label."""
    return bool(_plain(one) == _plain(other))


def _plain(template: core.PodTemplateSpec) -> Any:
    plain = to_dict(template)
    metadata = plain.get("metadata") or {}
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != POD_TEMPLATE_HASH}
    return {**plain, "metadata": {**metadata, "labels": labels}}
