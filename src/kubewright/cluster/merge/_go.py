"""Go's formatting of values, for messages that match the real server's."""

from __future__ import annotations

from typing import Any

__all__ = ["go_syntax", "go_type", "plain", "quoted", "shown"]

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def quoted(text: str) -> str:
    """Go's %q."""
    return '"' + "".join(_ESCAPES.get(c, c if c.isprintable() else _escaped(c)) for c in text) + '"'


def _escaped(character: str) -> str:
    point = ord(character)
    if point < 0x80:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def shown(value: Any) -> str:
    """Formats a value in a field path."""
    return quoted(value) if type(value) is str else "null" if value is None else plain(value)


def plain(value: Any) -> str:
    """Go's %v of a decoded JSON value."""
    if value is None:
        return "<nil>"
    if type(value) is bool:
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{plain(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(plain, value)) + "]"
    return _number(value) if isinstance(value, float) else str(value)


def go_syntax(value: Any) -> str:
    """Go's %#v of a decoded JSON value."""
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, dict):
        members = ", ".join(f"{quoted(name)}:{go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{members}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    return plain(value)


def go_type(value: Any) -> str:
    """Go's %T of a decoded JSON value."""
    if value is None:
        return "<nil>"
    names = {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map[string]interface {}"}
    return names.get(type(value), "[]interface {}")


def _number(value: float) -> str:
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa
    sign = "-" if exponent.startswith("-") else "+"
    return f"{mantissa}e{sign}{exponent.lstrip('+-').zfill(2)}"
