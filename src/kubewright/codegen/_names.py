"""Python names for JSON names."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from typing import Final

__all__ = ["IMPORTED", "TAKEN", "attribute_names", "camel_case", "module_name", "singular", "snake_case"]

# In this order: an acronym before a version (API in openAPIV3Schema), a plural one (IPs), any other, a word.
_WORD: Final = re.compile(r"[A-Z]+(?=V[0-9])|[A-Z]+s(?![a-z])|[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z0-9]+")

IMPORTED: Final = frozenset(
    {"Annotated", "IntOrString", "JSON", "Literal", "ObjectMeta", "Quantity", "Time", "kw", "msgspec"}
)
"""Names that generated modules import."""

TAKEN: Final = IMPORTED | frozenset(dir(builtins)) | frozenset(keyword.kwlist)
"""Names that a generated class cannot have."""

# A field of this name would hide the type from other annotations of the class.
_HIDING: Final = IMPORTED | {"bool", "bytes", "dict", "float", "int", "list", "str"}


def attribute_names(wire_names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Returns the snake_case attribute for each JSON name: `clusterIPs` is `cluster_ips`, `from` is `from_`.

    Attributes are unique: if names differ only in case or punctuation, later ones get a number.
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
    """Returns the words of a JSON name in lower case: `clusterIPs` is `cluster_ips`."""
    return "_".join(word.lower() for word in _WORD.findall(wire))


def _attribute(wire: str) -> str:
    name = snake_case(wire) or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in _HIDING else name


def camel_case(wire: str) -> str:
    """Returns the part of a class name for a JSON name: `pod-template` is `PodTemplate`."""
    words = re.findall(r"[A-Za-z0-9]+", wire)
    name = "".join(word[0].upper() + word[1:] for word in words) or "Field"
    return f"Field{name}" if name[0].isdigit() else name


# Singular words that end like plurals.
_SINGLE: Final = re.compile(r"(?i).*(alias|aws|cors|dns|fs|https|iops|kubernetes|ops|tls)")


def singular(word: str) -> str:
    """Returns the name of one element of a list: `policy` for `policies`, `address` for `addresses`."""
    for plural, single in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")):
        if word.endswith(plural) and len(word) > len(plural) + 1:
            return word.removesuffix(plural) + single
    if _SINGLE.fullmatch(word):
        return word
    return word[:-1] if re.search(r"[^su]s$", word) and len(word) > 2 else word


def module_name(text: str) -> str:
    """Returns a group or a version as a module name: `cert-manager.io` is `cert_manager_io`."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"{name}_" if keyword.iskeyword(name) else f"_{name}" if name[:1].isdigit() else name
