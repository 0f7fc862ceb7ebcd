"""Names in Python for names on the wire."""

from __future__ import annotations

import keyword
from typing import Final

from kubewright.codegen._names import snake_case

__all__ = ["attribute_name"]

# A field of this name would hide the type from the annotations beside it.
_TYPES: Final = frozenset({"bool", "bytes", "dict", "float", "int", "list", "str"})


def attribute_name(wire: str) -> str:
    """The snake_case attribute for a name on the wire: `clusterIPs` is `cluster_ips`, `from` is `from_`."""
    name = snake_case(wire)
    return f"{name}_" if keyword.iskeyword(name) or name in _TYPES else name
