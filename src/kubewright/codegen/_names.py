"""Names in Python for names on the wire, whatever those look like."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from typing import Final

__all__ = ["IMPORTED", "TAKEN", "attribute_names", "camel_case", "module_name", "singular", "snake_case"]

# An acronym before a version (API in openAPIV3Schema), one in the plural (IPs), any other, a word: in this order.
_WORD: Final = re.compile(r"[A-Z]+(?=V[0-9])|[A-Z]+s(?![a-z])|[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z0-9]+")

IMPORTED: Final = frozenset(
    {"Annotated", "IntOrString", "JSON", "Literal", "ObjectMeta", "Quantity", "Time", "kw", "msgspec"}
)
"""What generated modules import."""

TAKEN: Final = IMPORTED | frozenset(dir(builtins)) | frozenset(keyword.kwlist)
"""Names that no generated class may have."""

# A field of this name would hide the type from the annotations beside it, or a method of the model.
_HIDING: Final = IMPORTED | {"bool", "bytes", "dict", "float", "int", "list", "str", "validate"}


def attribute_names(wire_names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """The snake_case attribute for each name on the wire: `clusterIPs` is `cluster_ips`, `from` is `from_`.

    No two are the same: where names differ only in case or punctuation, the later ones get a number.
    """
    used = set(taken)
    names: dict[str, str] = {}
    for wire in wire_names:
        plain = _attribute(wire)
        name = plain
        number = 2
        while name in used:
            name = f"{plain.rstrip('_')}_{number}"
            number += 1
        used.add(name)
        names[wire] = name
    return names


def snake_case(wire: str) -> str:
    """The words of a name on the wire, in small letters: `clusterIPs` is `cluster_ips`."""
    return "_".join(word.lower() for word in _WORD.findall(wire))


def _attribute(wire: str) -> str:
    name = snake_case(wire) or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in _HIDING else name


def camel_case(wire: str) -> str:
    """The part of a class's name for a name on the wire: `pod-template` is `PodTemplate`."""
    words = re.findall(r"[A-Za-z0-9]+", wire)
    name = "".join(word[0].upper() + word[1:] for word in words) or "Field"
    return f"Field{name}" if name[0].isdigit() else name


# They end like plurals and are none.
_SINGLE: Final = re.compile(r"(?i).*(alias|aws|cors|dns|fs|https|iops|kubernetes|ops|tls)")


def singular(word: str) -> str:
    """What one element of a list of this name is called: `policies` has a `policy`, `addresses` an `address`."""
    for plural, single in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")):
        if word.endswith(plural) and len(word) > len(plural) + 1:
            return word.removesuffix(plural) + single
    if _SINGLE.fullmatch(word):
        return word
    return word[:-1] if re.search(r"[^su]s$", word) and len(word) > 2 else word


def module_name(text: str) -> str:
    """A group or a version as the name of a module: `cert-manager.io` is `cert_manager_io`."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"{name}_" if keyword.iskeyword(name) else f"_{name}" if name[:1].isdigit() else name
