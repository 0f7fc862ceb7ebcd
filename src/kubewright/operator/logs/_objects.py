"""Copies the log lines about objects into a `LogBook`.

A line is about an object if `ctx.log` wrote it, or if any logger wrote it during a reconcile of the object. It is
stored with the same levels and redaction as in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from kubewright.cache import ObjectKey
from kubewright.observe import LogBook, LogLine
from kubewright.operator.logs._formatters import JsonFormatter

__all__ = ["keeping_logs"]

_NAMED: Final = frozenset(LogLine.__struct_fields__) - {"extra"}
_ABOUT: Final = ("controller", "kind", "namespace", "name")


@contextmanager
def keeping_logs(book: LogBook, controllers: Callable[[], Collection[str]]) -> Iterator[None]:
    """Stores the lines about objects of these controllers until the block ends."""
    handler, root = _BookHandler(book, controllers), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


class _BookHandler(logging.Handler):
    def __init__(self, book: LogBook, controllers: Callable[[], Collection[str]]) -> None:
        super().__init__()
        self._book = book
        self._controllers = controllers
        self._format = JsonFormatter()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            fields = self._format.fields(record)
            controller, name = fields.get("controller"), fields.get("name")
            if name and controller in self._controllers():
                self._book.add(str(controller), ObjectKey(str(fields.get("namespace", "")), str(name)), _line(fields))
        except Exception:  # a line that cannot be stored must not stop the program
            self.handleError(record)


def _line(fields: dict[str, Any]) -> LogLine:
    named = {name: value for name, value in fields.items() if name in _NAMED}
    extra = {name: value for name, value in fields.items() if name not in _NAMED and name not in _ABOUT}
    # Lines of `ctx.log` start with the object, which the book already has.
    named["message"] = str(named["message"]).removeprefix(f"{fields.get('kind')} {_joined(fields)}: ")
    return msgspec.convert({**named, "extra": extra}, LogLine, strict=False)


def _joined(fields: dict[str, Any]) -> str:
    return f"{fields['namespace']}/{fields['name']}" if fields.get("namespace") else str(fields["name"])
