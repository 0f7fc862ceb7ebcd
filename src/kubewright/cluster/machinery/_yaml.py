"""Writes YAML the way the real server does: sorted names, lists not indented, strings quoted as Go's library does."""

from __future__ import annotations

import re
from functools import cache, cmp_to_key
from typing import Any, Final

import msgspec

from kubewright.cluster.machinery._field_errors import go_number
from kubewright.cluster.machinery._work_budget import PROCESSED, WorkBudget

__all__ = ["dump_yaml", "yaml_of"]

_COST: Final = 4 * PROCESSED  # YAML takes milliseconds for an object

_WORDS: Final = frozenset(
    word
    for lower in ("y", "n", "yes", "no", "true", "false", "on", "off", "null")
    for word in (lower, lower.capitalize(), lower.upper())
) | {"", "~", "<<"}
_SPECIAL_FLOAT: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_NUMBER: Final = re.compile(
    r"[-+]?(0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9_]+)?|\.[0-9_]+([eE][-+]?[0-9]+)?)"
)
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIME: Final = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([Tt ]\s*\d{1,2}:\d{1,2}:\d{1,2}(\.\d*)?\s*(Z|[-+]\d{1,2}(:\d{2})?)?)?"
)


async def yaml_of(document: bytes) -> bytes:
    """Returns a JSON document as a YAML document. Spreads the items of a list over turns of the event loop."""
    value = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
    items = value.pop("items", None)
    if items is None or bytes(items)[:1] != b"[" or bytes(items) == b"[]":
        return dump_yaml(msgspec.json.decode(document))
    budget, written = WorkBudget(), [b"items:\n"]
    for item in msgspec.json.decode(items, type=list[msgspec.Raw]):
        written.append(dump_yaml([msgspec.json.decode(item)]))  # not indented, as in the whole document
        await budget.spend(_COST)
    before, after = (
        {name: msgspec.json.decode(value[name]) for name in value if (_compared(name, "items") < 0) is first}
        for first in (True, False)
    )
    return b"".join([dump_yaml(before) if before else b"", *written, dump_yaml(after) if after else b""])


def dump_yaml(value: Any) -> bytes:
    """Returns a JSON value as a YAML document."""
    import yaml

    text: str = yaml.dump(value, Dumper=_dumper(), default_flow_style=False, allow_unicode=True, width=80)
    return text.encode()


@cache
def _dumper() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumper: Any = type("Dumper", (base,), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, _text)
    dumper.add_representer(dict, _mapping)
    dumper.add_representer(float, lambda self, value: self.represent_scalar(_FLOAT, go_number(value)))
    return dumper


_FLOAT: Final = "tag:yaml.org,2002:float"


def _text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text else '"' if _means_something_else(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _means_something_else(text: str) -> bool:
    """Returns whether YAML would read the unquoted string as a number, a time or another type."""
    if text in _WORDS:
        return True
    return any(each.fullmatch(text) for each in (_NUMBER, _SPECIAL_FLOAT, _BASE_60, _TIME))


def _mapping(dumper: Any, value: dict[str, Any]) -> Any:
    items = sorted(value.items(), key=cmp_to_key(_compared_items))
    return dumper.represent_mapping("tag:yaml.org,2002:map", items, flow_style=None if value else True)


def _compared_items(one: tuple[str, Any], other: tuple[str, Any]) -> int:
    return _compared(one[0], other[0])


def _compared(one: str, other: str) -> int:
    """Returns the sort key of a name in Go's library: letters last, numbers by value."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left == right:
            continue
        if left.isalpha() or right.isalpha():
            if left.isalpha() and right.isalpha():
                return -1 if left < right else 1
            return -1 if right.isalpha() else 1
        mine, theirs = _digits(one, index), _digits(other, index)
        if (left == "0" or right == "0") and re.search(r"[1-9][0-9]*$", one[:index]):
            mine, theirs = f"1{mine}", f"1{theirs}"
        key, other_key = (int(mine or 0), len(mine), left), (int(theirs or 0), len(theirs), right)
        return -1 if key < other_key else 1
    return len(one) - len(other)


def _digits(text: str, start: int) -> str:
    found = re.match(r"[0-9]*", text[start:])
    return found[0] if found is not None else ""
