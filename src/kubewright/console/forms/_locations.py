"""`locate`: the path of a field that a server's message names."""

from __future__ import annotations

import re
from typing import Any, Final

from kubewright.console.forms._fields import Field
from kubewright.console.forms._paths import Path, value_at

__all__ = ["locate"]

_STEP: Final = re.compile(r"\.?(?P<name>[^.\[\]]+)|\[(?P<inside>[^\]]*)\]")


def locate(text: str, field: Field, value: Any) -> tuple[Path, str]:
    """Returns the path that a server's field name refers to, as deep as the form has it, and the remaining text.

    Names can contain dots, so the schema and the value decide where a name ends: the server writes
    `metadata.labels[a.b/c]` in one message and `spec.limits.a.b/c` in another.
    """
    path: Path = ()
    here: Field | None = field
    rest = text.lstrip(".")
    while rest:
        found = _step(rest, here, value_at(value, path))
        if found is None:
            break
        step, rest = found
        path = (*path, step)
        here = here.below(step) if here is not None else None
    return path, rest


def _step(rest: str, field: Field | None, value: Any) -> tuple[str | int, str] | None:
    """Returns the first step of the text, and the rest."""
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
        if (
            field is not None
            and field.shape == "object"
            and not field.preserves_unknown
            and not isinstance(value, dict)
        ):
            return None
    match = _STEP.match(rest)
    if match is None:
        return None
    after = rest[match.end() :]
    inside = match["inside"]
    if is_list:
        return (int(inside), after) if inside is not None and inside.isdigit() else None
    if inside is None and field is not None and field.shape == "object" and not field.preserves_unknown:
        return None
    return (match["name"] if inside is None else inside.strip("\"'")), after
