"""From the program's log to a `LogBook`: what is logged about an object is kept with it.

A line is about an object when `ctx.log` wrote it, or when it was written, by any logger, while the object was being
reconciled. It is kept as the log itself shows it: the levels are those of the log, and what must not be shown is not.
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
    """Keep the lines about objects of these controllers, for the length of the block."""
    handler, root = _ToBook(book, controllers), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


class _ToBook(logging.Handler):
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
        except Exception:  # a line that cannot be kept must not stop the program
            self.handleError(record)


def _line(fields: dict[str, Any]) -> LogLine:
    named = {name: value for name, value in fields.items() if name in _NAMED}
    extra = {name: value for name, value in fields.items() if name not in _NAMED and name not in _ABOUT}
    # Lines of `ctx.log` begin with the object, which is known here.
    named["message"] = str(named["message"]).removeprefix(f"{fields.get('kind')} {_joined(fields)}: ")
    return msgspec.convert({**named, "extra": extra}, LogLine, strict=False)


def _joined(fields: dict[str, Any]) -> str:
    return f"{fields['namespace']}/{fields['name']}" if fields.get("namespace") else str(fields["name"])
