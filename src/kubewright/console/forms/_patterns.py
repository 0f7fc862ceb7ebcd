"""Patterns of schemas that Python could take years for. Pure.

The API server's regular expressions (Go) take a time that grows with the text alone. Python's go back and try again:
one as innocent as `^(a+)+$` doubles its time with each letter, and everybody waits for it. A definition is written by
others, so such patterns are asked of short texts only; what they say of longer ones, the server says in the review.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["is_short", "may_take_long", "without_slow_patterns"]

_SHORT: Final = 12
_MANY: Final = 10
_TOKEN: Final = re.compile(
    r"(?P<open>\((?:\?P?<\w+>|\?[a-zA-Z-]*:)?)|(?P<close>\))|(?P<choice>\|)"
    r"|(?P<repeat>(?:[*+?]|\{(?P<low>\d+)(?P<to>,(?P<high>\d*))?\})\??)"
    r"|(?P<atom>\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|[^^$])|.",
    re.DOTALL,
)


@dataclass
class _Group:
    """What stands between two brackets."""

    atoms: list[str] = field(default_factory=list)
    """What single letters are compared with, in there and below."""
    repeats: int = 0
    """How many repeats have no end."""
    choices: bool = False
    first: str = ""
    """The letter that it begins with, always, if it is one."""
    last: str = ""
    """The letter that it ends with."""


def may_take_long(pattern: str) -> bool:
    """Whether a repeat without an end has another one or a choice in it, and nothing tells its rounds apart.

    `(\\.[a-z]+)*` does: each round begins with a dot, and nothing else in it is one.
    """
    groups = [_Group()]
    closed: _Group | None = None
    for token in _TOKEN.finditer(pattern):
        here = groups[-1]
        if token["open"]:
            groups.append(_Group())
        elif token["close"] and len(groups) > 1:
            closed = groups.pop()
            _take(groups[-1], closed)
            continue
        elif token["choice"]:
            here.choices = True
        elif token["repeat"]:
            if _is_long(token):
                if closed is not None and (closed.repeats or closed.choices) and not _is_told_apart(closed):
                    return True
                here.repeats += 1
            if closed is None and len(here.atoms) == 1:
                here.first = ""
            here.last = ""
        elif token["atom"]:
            here.last = _letter(token["atom"])
            if not here.atoms:
                here.first = here.last
            here.atoms.append(token["atom"])
        closed = None
    return False


def _take(group: _Group, inner: _Group) -> None:
    group.atoms += inner.atoms
    group.repeats += inner.repeats
    group.choices = group.choices or inner.choices
    group.last = ""


def _is_long(token: re.Match[str]) -> bool:
    if token["low"] is None:
        return token["repeat"][0] in "*+"
    return int(token["high"] or (10**6 if token["to"] else token["low"])) > _MANY


def _is_told_apart(group: _Group) -> bool:
    if group.choices or group.repeats > 1:
        return False
    marks = [mark for mark in (group.first, group.last) if mark]
    return any(sum(_matches(atom, mark) for atom in group.atoms) == 1 for mark in marks)


def _letter(atom: str) -> str:
    if len(atom) == 1:
        return "" if atom == "." else atom
    return atom[1] if atom[0] == "\\" and not atom[1].isalnum() else ""


def _matches(atom: str, letter: str) -> bool:
    try:
        return re.fullmatch(atom, letter, re.ASCII) is not None
    except re.error:
        return True  # not to know is no reason to trust it


def without_slow_patterns(schema: Any) -> Any:
    """The schema without the patterns that may take long; itself where it has none."""
    if isinstance(schema, list):
        members = [without_slow_patterns(one) for one in schema]
        return members if any(new is not old for new, old in zip(members, schema, strict=True)) else schema
    if not isinstance(schema, dict):
        return schema
    made = {name: without_slow_patterns(part) for name, part in schema.items()}
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and may_take_long(pattern):
        del made["pattern"]
    same = len(made) == len(schema) and all(made[name] is schema[name] for name in made)
    return schema if same else made


def is_short(value: Any) -> bool:
    """Whether no text in a value is so long that a pattern could take long."""
    if isinstance(value, str):
        return len(value) <= _SHORT
    if isinstance(value, dict):
        return all(is_short(member) for member in value.values())
    return all(is_short(member) for member in value) if isinstance(value, list) else True
