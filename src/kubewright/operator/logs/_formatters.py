"""The formatters of the log: readable lines for a terminal, one JSON object per line for everything else.

Each line about an object names it: records of `ctx.log`, and all records of any logger during its reconcile, have
`controller`, `kind`, `namespace`, `name` and `trace`, and the values of `extra=`. A repeated error of a reconcile has
no traceback, and `repeated` has the count.

Log messages contain data of cluster objects, which is untrusted: line breaks do not start a new line, and control
characters of terminals are escaped. Tokens and private keys are redacted. A value in `extra=` that is not a plain value
is shown as its `str`, never field by field.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

import msgspec

from kubewright.causes import error_text
from kubewright.client import current_trace
from kubewright.controller import RepeatedError
from kubewright.operator.settings import Settings
from kubewright.redaction import redact, visible

__all__ = ["JsonFormatter", "PrettyFormatter", "set_up_logging"]

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_MAX_LENGTH = 16_384
_COLORS = {"DEBUG": "\x1b[2m", "INFO": "\x1b[32m", "WARNING": "\x1b[33m", "ERROR": "\x1b[31m"}


def set_up_logging(settings: Settings, stream: TextIO | None = None) -> None:
    """Writes the log to standard error, unless the program has configured logging itself.

    `log_format` replaces the program's own handlers. `log_level` alone only changes the level.
    """
    root, stream = logging.getLogger(), stream or sys.stderr
    level = (settings.log_level or "info").upper()
    if root.handlers and settings.log_format is None:
        if settings.log_level is not None:
            root.setLevel(level)
        return
    terminal = stream.isatty()
    pretty = terminal if settings.log_format is None else settings.log_format == "pretty"
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PrettyFormatter(color=terminal and _wants_color(os.environ)) if pretty else JsonFormatter())
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)


def _wants_color(environ: Mapping[str, str]) -> bool:
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, the object, and the exception with its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line."""
        return msgspec.json.encode(self.fields(record)).decode()

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """Returns the fields of the line by name: plain, redacted values."""
        line: dict[str, Any] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _shown(_message(record)),
        }
        for name, value in (*_about(record), *_extra(record)):
            line.setdefault(name, value)
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["error"] = _shown(error_text(error))
            line["traceback"] = _shown(self.formatException(record.exc_info))
        elif isinstance(repeated := getattr(record, "repeated", None), RepeatedError):
            line["error"], line["repeated"] = _shown(repeated.error), repeated.times
        if record.stack_info:
            line["stack"] = _shown(self.formatStack(record.stack_info))
        return line


class PrettyFormatter(logging.Formatter):
    """A line for a terminal: time of day, level, message and further fields, followed by the indented traceback."""

    def __init__(self, *, color: bool = False) -> None:
        super().__init__()
        self._color = color

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line, followed by the indented traceback."""
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        message = _shown(_message(record))
        about = dict(_about(record))
        if "name" in about and not hasattr(record, "object"):  # lines of `ctx.log` start with the object
            message = f"{about['kind']} {_joined(about)}: {message}"
        extra = "".join(f" {name}={value}" for name, value in _extra(record))
        lines = [f"{message}{extra}"]
        if record.exc_info and record.exc_info[1] is not None:
            lines.append(_shown(self.formatException(record.exc_info)))
        if record.stack_info:
            lines.append(_shown(self.formatStack(record.stack_info)))
        shown = visible("\n".join(lines)).replace("\n", "\n    ")
        return f"{at}.{int(record.msecs):03d} {self._level(record.levelname)} {shown}"

    def _level(self, name: str) -> str:
        return f"{_COLORS.get(name, '')}{name:7}\x1b[0m" if self._color else f"{name:7}"


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # a message with wrong arguments is still logged
        return f"{record.msg!r} with {record.args!r} ({type(error).__name__}: {error})"


def _about(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    """Yields the controller, object and trace of a record, or of the running reconcile."""
    trace = current_trace()
    key = getattr(trace, "key", None)
    controller = getattr(record, "controller", None) or getattr(trace, "controller", None)
    kind = getattr(record, "kind", None) or getattr(getattr(trace, "info", None), "kind", None)
    named = getattr(record, "object", None) or (str(key) if key is not None else None)
    if controller:
        yield "controller", str(controller)
    if named:
        namespace, _, name = str(named).rpartition("/")
        yield "kind", str(kind or "")
        yield "namespace", namespace
        yield "name", name
    if found := getattr(record, "trace", None) or trace:
        yield "trace", str(found)


def _joined(about: Mapping[str, Any]) -> str:
    return f"{about['namespace']}/{about['name']}" if about["namespace"] else str(about["name"])


def _extra(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    for name, value in vars(record).items():
        if isinstance(value, RepeatedError):
            continue  # part of the message
        if name not in _STANDARD and name not in ("controller", "kind", "object", "trace"):
            yield name, _plain(value)


def _plain(value: object, depth: int = 3) -> Any:
    """Returns plain values unchanged and everything else as a string: the fields of an object may be secret."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth and type(value) is dict:
        return {_shown(str(name)): _plain(item, depth - 1) for name, item in value.items()}
    if depth and type(value) in (list, tuple):
        return [_plain(item, depth - 1) for item in value]  # type: ignore[attr-defined]  # checked above
    try:
        return _shown(str(value))
    except Exception as error:
        return f"<{type(value).__name__}: str() raised {type(error).__name__}>"


def _shown(text: str) -> str:
    """Redacts and truncates a string."""
    text = redact(text)
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}… ({len(text) - _MAX_LENGTH} more characters)"
