"""Redaction: strings from untrusted sources made safe for a log, an event or a page, and structs that hide secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

__all__ = [
    "COPIES_OF_OBJECTS",
    "REDACTED",
    "Redacted",
    "as_text",
    "is_secret",
    "one_line",
    "redact",
    "visible",
]

REDACTED: Final = "••••••••"
"""Replaces a masked value. It does not reveal the length."""

COPIES_OF_OBJECTS: Final = ("kubectl.kubernetes.io/last-applied-configuration",)
"""Annotations that contain a copy of the object."""

_SECRETS: Final = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\beyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]*"
    r"|(?<=\bBearer )[A-Za-z0-9._~+/=-]{8,}"
)


_CONTROL: Final = {
    number: f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
    for number in (
        *range(9),
        *range(11, 32),
        *range(127, 160),
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
    )
}
"""Characters that control a terminal, end a line or change the direction of text; without tab and line feed."""


def visible(text: str) -> str:
    """Returns the string with control characters escaped, so that a terminal shows them. Line feeds and tabs stay."""
    return text if text.isprintable() else text.translate(_CONTROL)


def one_line(text: str) -> str:
    """Returns the string on one line with control characters escaped: for strings of a server in messages and logs."""
    if text.isprintable():
        return text
    lines = (line.strip() for line in text.replace("\t", " ").splitlines())
    return visible(" ".join(line for line in lines if line))


def redact(text: str) -> str:
    """Returns the string without private keys, tokens and credentials, and with all characters encodable."""
    if "eyJ" in text or "Bearer " in text or "PRIVATE KEY" in text:
        text = re.sub(_SECRETS, "(withheld)", text, flags=re.DOTALL)
    return _encodable(text)


def _encodable(text: str) -> str:
    """Returns the string with lone surrogates, as in undecodable file names, written as `\\udce9`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def is_secret(obj: Mapping[str, Any]) -> bool:
    """Returns whether an object, as plain JSON, is a Secret."""
    return obj.get("kind") == "Secret" and obj.get("apiVersion") == "v1"


def as_text(said: object) -> str:
    """Returns any value of user code as an encodable string. Users often pass an error instead of its message."""
    try:
        text = str.__str__(said) if isinstance(said, str) else str(said) or type(said).__name__
    except Exception:
        text = f"a {type(said).__name__} that cannot be shown"
    return _encodable(text)


class Redacted:
    """Mixin for structs: `repr` and the rich library omit the fields listed in `redacted`."""

    __slots__ = ()

    redacted: ClassVar[frozenset[str]]
    __struct_fields__: ClassVar[tuple[str, ...]]

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self.__rich_repr__()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.redacted]
