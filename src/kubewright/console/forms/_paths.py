"""Places in an object: as a tuple of names and numbers here, as a text such as `spec.ports[0].name` in messages."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from kubewright.console.forms._fields import Field

__all__ = ["NOWHERE", "Path", "at", "located", "shown"]

Path: TypeAlias = tuple[str | int, ...]
"""`("spec", "ports", 0, "name")`; empty for the object itself."""


class Nowhere(Enum):
    """One value, that is no JSON."""

    NOWHERE = "nowhere"


NOWHERE: Final = Nowhere.NOWHERE
"""What stands at a place that does not exist."""

_STEP: Final = re.compile(r"\.?(?P<name>[^.\[\]]+)|\[(?P<inside>[^\]]*)\]")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_$-]+")


def at(value: Any, path: Path) -> Any:
    """What stands at a place of a value, or `NOWHERE`."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or not 0 <= step < len(value):
                return NOWHERE
            value = value[step]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return NOWHERE
    return value


def shown(path: Path) -> str:
    """The place as the API server writes it: `spec.ports[0].name`, `spec.labels[example.com/a]`."""
    text = ""
    for step in path:
        if isinstance(step, int) or not _PLAIN.fullmatch(step):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def located(text: str, field: Field, value: Any) -> tuple[Path, str]:
    """The place that a server's text means, as deep as it leads into the form, and what is left of the text.

    Names with dots in them are told apart by what the schema and the value have at that place: the server writes
    `metadata.labels[a.b/c]` in one message and `spec.limits.a.b/c` in another.
    """
    path: Path = ()
    here: Field | None = field
    rest = text.lstrip(".")
    while rest:
        found = _step(rest, here, at(value, path))
        if found is None:
            break
        step, rest = found
        path = (*path, step)
        here = here.below(step) if here is not None else None
    return path, rest


def _step(rest: str, field: Field | None, value: Any) -> tuple[str | int, str] | None:
    """The first step of a text, and what follows it."""
    if field is not None and field.is_scalar:
        return None
    is_list = isinstance(value, list) or (field is not None and field.shape == "list")
    if not is_list:
        plain = rest.removeprefix(".")
        known = [*(field.members if field is not None else ()), *(value if isinstance(value, dict) else ())]
        for name in sorted(known, key=len, reverse=True):
            for written in (f"[{name}]", f'["{name}"]', f"['{name}']", name):
                source = rest if written.startswith("[") else plain
                after = source[len(written) :]
                if source.startswith(written) and (not after or after[0] in ".["):
                    return name, after
        if field is not None and field.shape == "object" and not field.keeps_others and not isinstance(value, dict):
            return None
    match = _STEP.match(rest)
    if match is None:
        return None
    after = rest[match.end() :]
    inside = match["inside"]
    if is_list:
        return (int(inside), after) if inside is not None and inside.isdigit() else None
    if inside is None and field is not None and field.shape == "object" and not field.keeps_others:
        return None
    return (match["name"] if inside is None else inside.strip("\"'")), after
