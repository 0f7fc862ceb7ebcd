"""Names in Python for names on the wire."""

from __future__ import annotations

import keyword
import re
from typing import Final

__all__ = ["attribute_name"]

# An acronym before a version (API in openAPIV3Schema), one in the plural (IPs), any other, a word: in this order.
_WORD: Final = re.compile(r"[A-Z]+(?=V[0-9])|[A-Z]+s(?![a-z])|[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z0-9]+")

# A field of this name would hide the type from the annotations beside it.
_TYPES: Final = frozenset({"bool", "bytes", "dict", "float", "int", "list", "str"})


def attribute_name(wire: str) -> str:
    """The snake_case attribute for a name on the wire: `clusterIPs` is `cluster_ips`, `from` is `from_`."""
    name = "_".join(word.lower() for word in _WORD.findall(wire))
    return f"{name}_" if keyword.iskeyword(name) or name in _TYPES else name
