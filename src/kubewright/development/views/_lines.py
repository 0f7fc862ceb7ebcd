"""Messages as lines for people: a topic and a text."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from kubewright.development._tracebacks import fold_frames
from kubewright.development.messages import (
    Applied,
    ClusterReady,
    ConsoleReady,
    Ended,
    EventSeen,
    Failed,
    Hint,
    Installed,
    Loaded,
    Logged,
    Message,
    ObjectSeen,
    Output,
    Ready,
    Reconciled,
    Starting,
    Stopped,
)
from kubewright.durations import format_duration
from kubewright.redaction import redact

__all__ = ["Line", "lines_of", "plain", "title"]

_LIFE: Final = "kubewright.operator"
"""Loggers about starting and stopping, which messages report already."""
_CONTROLLERS: Final = "kubewright.controller."
"""Loggers about failed reconciles."""
_MOST_CHANGES: Final = 20
_QUIET: Final = ("debug", "info")
_WHAT: Final = {
    "import": "the program cannot be imported",
    "definitions": "the cluster rejects the definitions of the program",
    "start": "the operator cannot start",
    "sample": "the sample cannot be applied",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its topic, its text, and its tone (`good`, `bad`, `odd`, `dim` or none)."""

    word: str
    text: str
    tone: str = ""


def plain(text: str) -> str:
    """Returns text that is safe for terminals and shows no secret. It may come from any source."""
    return "".join(each if each.isprintable() else " " for each in redact(text).expandtabs(4))


def title(kind: str, namespace: str, name: str) -> str:
    """Returns the kind and name of an object."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def lines_of(message: Message, *, verbose: bool = False) -> list[Line]:
    """Returns the lines of a message; none if it matters to programs only."""
    return [Line(line.word, plain(line.text), line.tone) for line in _lines_of(message, verbose=verbose)]


def _lines_of(message: Message, *, verbose: bool) -> list[Line]:
    match message:
        case ClusterReady():
            return _cluster(message)
        case ConsoleReady():
            return [Line("console", message.url, "good")]
        case Hint():
            return [Line("hint", message.text, "dim")]
        case Starting():
            changed = f"{', '.join(message.changed)} changed: " if message.changed else ""
            return [Line("starting", f"{changed}loading {', '.join(message.targets)}")]
        case Loaded():
            return []
        case Installed():
            return _installed(message)
        case Ready():
            return [Line("running", f"{message.operator}, with pages at http://{message.address}", "good")]
        case Applied():
            return [
                Line("applied", f"{title(message.kind, message.namespace, message.name)} of {message.file}", "good")
            ]
        case Failed():
            return _failed(message)
        case Ended():
            return [Line("ended", f"the operator exited with code {message.code}; save a file to restart it", "bad")]
        case Stopped():
            return [Line("stopped", "everything has stopped")]
        case _:
            return _of_objects(message, verbose=verbose)


def _of_objects(message: Message, *, verbose: bool) -> list[Line]:
    match message:
        case ObjectSeen():
            about = title(message.kind, message.namespace, message.name)
            if message.change == "deleted":
                return [Line("object", f"{about} was deleted", "dim")]
            return [Line("object", f"{about}: {message.state or 'exists'}")]
        case Reconciled():
            return _reconciled(message)
        case EventSeen():
            about, times = title(message.kind, message.namespace, message.name), f" (x{message.count})"
            text = f"{about}: {message.reason}: {message.message}{times if message.count > 1 else ''}"
            return [Line("event", text, "odd" if message.severity == "Warning" else "")]
        case Logged():
            return _logged(message, verbose=verbose)
        case Output():
            return [Line("output", message.text)]
    return []


def _cluster(ready: ClusterReady) -> list[Line]:
    what = "the embedded cluster" if ready.embedded else "the cluster"
    lines = [Line("cluster", f"{what} is ready at {ready.server}", "good")]
    if ready.kubeconfig is not None:
        lines.append(Line("kubectl", f"export KUBECONFIG={shlex.quote(ready.kubeconfig)}", "good"))
    if ready.context is not None:
        lines.append(Line("kubectl", f"kubectl --context {shlex.quote(ready.context)}", "good"))
    return lines


def _installed(installed: Installed) -> list[Line]:
    if not installed.definitions:
        return []
    lines = [Line("defined", ", ".join(installed.definitions), "good")]
    for name, changes in installed.changes.items():
        lines.append(Line("schema", f"{name} has changed:", "odd"))
        lines += [Line("", f"  {change}") for change in changes[:_MOST_CHANGES]]
        if len(changes) > _MOST_CHANGES:
            lines.append(Line("", f"  and {len(changes) - _MOST_CHANGES} more", "dim"))
    return lines


def _failed(failed: Failed) -> list[Line]:
    where = f" at {failed.file}:{failed.line}" if failed.line else f" {failed.file}" if failed.file else ""
    first, *more = failed.text.rstrip().splitlines() or [""]
    if not more:
        return [Line("failed", f"{_WHAT[failed.what]}{where}: {first}", "bad")]
    return [Line("failed", f"{_WHAT[failed.what]}{where}:", "bad"), *(Line("", line) for line in (first, *more))]


def _reconciled(reconciled: Reconciled) -> list[Line]:
    about = title(reconciled.kind, reconciled.namespace, reconciled.name)
    if not reconciled.error:
        how = "" if reconciled.result == "success" else f", {reconciled.result.replace('_', ' ')}"
        return [Line("reconciled", f"{about} in {format_duration(reconciled.seconds)}{how}", "dim")]
    return []  # the log has the error, with the lines of the program that caused it


def _logged(logged: Logged, *, verbose: bool) -> list[Line]:
    if logged.logger == _LIFE and logged.level in _QUIET and not verbose:
        return []
    about = title(logged.kind, logged.namespace, logged.name)
    message = logged.message if not logged.name or logged.message.startswith(about) else f"{about}: {logged.message}"
    tone = {"warning": "odd", "error": "bad", "critical": "bad", "debug": "dim"}.get(logged.level, "")
    first, *more = message.splitlines() or [""]
    failing = logged.level == "error" and logged.logger.startswith(_CONTROLLERS)
    lines = [Line("failing" if failing else logged.level, first, tone), *(Line("", line) for line in more)]
    trace = logged.traceback.rstrip().splitlines() if verbose else fold_frames(logged.traceback)
    return [*lines, *(Line("", line, "dim") for line in trace)]
