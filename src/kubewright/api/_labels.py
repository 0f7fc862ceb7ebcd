"""Checks label keys and values as Kubernetes does."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["check_label_key", "check_label_value"]

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_NAME_RULE: Final = "letters, digits, '-', '_' and '.', starting and ending with a letter or digit"


def check_label_key(key: str) -> None:
    """Raises ValueError unless the key is a name such as `app`, or has a prefix, as in `example.com/app`."""
    prefix, slash, name = key.rpartition("/")
    if slash:
        if not prefix:
            raise ValueError(f"label key {key!r}: the prefix before '/' is empty")
        if len(prefix) > 253:
            raise ValueError(f"label key {key!r}: the prefix has {len(prefix)} characters, at most 253 are allowed")
        if not _SUBDOMAIN.fullmatch(prefix):
            raise ValueError(
                f"label key {key!r}: the prefix {prefix!r} must be a lower-case DNS name such as 'example.com'"
            )
    if not name:
        raise ValueError(f"label key {key!r}: the name is empty")
    if len(name) > 63:
        raise ValueError(f"label key {key!r}: the name has {len(name)} characters, at most 63 are allowed")
    if not _NAME.fullmatch(name):
        raise ValueError(f"label key {key!r}: the name {name!r} must consist of {_NAME_RULE}")


def check_label_value(value: str) -> None:
    """Raises ValueError unless the value is empty, or at most 63 letters, digits, `-`, `_` and `.`."""
    if len(value) > 63:
        raise ValueError(f"label value {value!r} has {len(value)} characters, at most 63 are allowed")
    if value and not _NAME.fullmatch(value):
        raise ValueError(f"label value {value!r} must be empty or consist of {_NAME_RULE}")
