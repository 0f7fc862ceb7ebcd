"""Immutable fields: finds those that a rejected apply would change, and keeps their values. Pure functions.

The server rejects a change of an immutable field with 422 and a cause for the field. The wording differs by kind:

| kind | cause |
|---|---|
| Job, Deployment, most others | `spec.template: … field is immutable` |
| StatefulSet | `spec: … updates to statefulset spec for fields other than 'replicas', … are forbidden` |
| PersistentVolumeClaim | `spec: … spec is immutable after creation except resources.requests …` |
| Pod | `spec: … pod updates may not change fields other than …` |
| Service | `spec.clusterIPs[0]: … may not change once set` |
| RoleBinding | `roleRef: … cannot change roleRef` |
| custom resources | the message of the rule, such as `Value is immutable` |
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from kubewright.client import Invalid

__all__ = ["ImmutablePolicy", "check_immutable", "immutable_fields", "with_kept_fields"]

ImmutablePolicy: TypeAlias = Literal["fail", "keep", "recreate"]
"""The policy for an apply that would change immutable fields of an existing object:

- "fail": the error `ImmutableFields` names them.
- "keep": they keep their value, and the other fields are applied.
- "recreate": the object is deleted and created again.
"""

_POLICIES: Final[tuple[str, ...]] = get_args(ImmutablePolicy)
_IMMUTABLE: Final = re.compile(
    r"\bimmutable\b|updates to .*(?:are|is) forbidden|may not change (?:fields other than|once set)"
    r"|cannot change roleRef",
    re.DOTALL | re.IGNORECASE,
)
_OTHER_THAN: Final = re.compile(r"(?:other than|except)\s(.*)", re.DOTALL)
_MUTABLE: Final = re.compile(r"[`']([\w.\[\]*]+)[`']|\b([a-z]\w*(?:\.\w+)+)\b")


def check_immutable(given: object) -> None:
    """Raises ValueError for an unknown policy."""
    if given not in _POLICIES:
        raise ValueError(f"immutable must be one of {', '.join(map(repr, _POLICIES))}, not {given!r}")


def immutable_fields(error: Invalid, requested: Any, stored: bytes) -> tuple[str, ...]:
    """Returns the immutable fields that the request would change.

    Empty if the server gives any other reason as well: then the object is invalid in any case.
    """
    causes = error.causes
    if not causes or not all(_IMMUTABLE.search(cause.message) for cause in causes):
        return ()
    content = msgspec.json.decode(stored)
    changed = list(_differing(requested, content, ""))
    found: dict[str, None] = {}
    for cause in causes:
        below = [path for path in changed if _is_below(path, cause.field)]
        mutable = [f"{cause.field}.{name}" for name in _exceptions_in(cause.message)]
        named = [path for path in below if not any(_is_below(path, one) for one in mutable)]
        found.update(dict.fromkeys(named or [cause.field]))
    return tuple(found)


def with_kept_fields(requested: Any, stored: Any, fields: Collection[str], path: str = "") -> Any:
    """Returns the request with the stored values of these fields. A field that is not stored is left out."""
    if isinstance(requested, dict) and isinstance(stored, dict):
        kept = {}
        for name, value in requested.items():
            below = f"{path}.{name}" if path else name
            if below not in fields:
                kept[name] = with_kept_fields(value, stored.get(name), fields, below)
            elif name in stored:
                kept[name] = stored[name]
        return kept
    if isinstance(requested, list) and isinstance(stored, list) and len(requested) == len(stored):
        pairs = enumerate(zip(requested, stored, strict=True))
        return [
            other if f"{path}[{number}]" in fields else with_kept_fields(one, other, fields, f"{path}[{number}]")
            for number, (one, other) in pairs
        ]
    return requested


def _exceptions_in(message: str) -> list[str]:
    """Returns the fields that a message names as mutable, relative to the field of its cause."""
    rest = _OTHER_THAN.search(message)
    found = _MUTABLE.findall(rest[1]) if rest else []
    return [(quoted or dotted).removeprefix("spec.") for quoted, dotted in found]


def _differing(requested: Any, stored: Any, path: str) -> Iterator[str]:
    """Yields the fields that are requested with another value than the stored one."""
    if isinstance(requested, dict) and isinstance(stored, dict):
        for name, value in requested.items():
            yield from _differing(value, stored.get(name), f"{path}.{name}" if path else name)
    elif isinstance(requested, list) and isinstance(stored, list) and len(requested) == len(stored):
        for number, (one, other) in enumerate(zip(requested, stored, strict=True)):
            yield from _differing(one, other, f"{path}[{number}]")
    elif requested != stored:
        yield path


def _is_below(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}["))
