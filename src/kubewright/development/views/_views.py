"""Views of a development run: plain lines, lines above a live table on a terminal, or JSON."""

from __future__ import annotations

import os
import signal
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TextIO

import msgspec

from kubewright.counts import counted
from kubewright.development.messages import ClusterReady, ConsoleReady, Message, Reconciled, Stopped
from kubewright.development.views._board import Board, Row
from kubewright.development.views._lines import Line, lines_of, plain, title
from kubewright.durations import format_age

__all__ = ["JsonView", "LinesView", "LiveView", "View", "view_for"]

_COLORS: Final = {"good": "32", "bad": "31", "odd": "33", "dim": "2"}
_WORD_WIDTH: Final = 10
_INDENT: Final = " " * (8 + 1 + _WORD_WIDTH + 1)
_NARROWEST: Final = 20
_LONGEST_NAME: Final = 40
_LONGEST_STATE: Final = 40
_ERASE: Final = "\x1b[J"
_UP: Final = "\x1b[{}F"


class View(Protocol):
    """Shows the messages of a development run."""

    def show(self, message: Message) -> None:
        """Shows a message."""

    def tick(self) -> None:
        """Updates ages. Called every second."""

    def close(self) -> None:
        """Releases the terminal. Called once, at the end."""


class JsonView:
    """One JSON object per line: the message and its time."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, message: Message) -> None:
        """Writes the line."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        content: dict[str, Any] = msgspec.to_builtins(message)
        line = {"type": content.pop("type"), "time": now, **content}
        _emit(self._stream, f"{msgspec.json.encode(line).decode()}\n")

    def tick(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


class LinesView:
    """Human-readable lines. Default: without colors.

    Reconciles that a resync ran are folded into one line, unless they fail or `verbose` is set.
    """

    def __init__(self, stream: TextIO, *, color: bool = False, verbose: bool = False) -> None:
        self._stream = stream
        self._color = color
        self._verbose = verbose
        self._resynced: set[tuple[str, str, str]] = set()

    def show(self, message: Message) -> None:
        """Writes the lines of a message."""
        self._write(self._lines(message))

    def tick(self) -> None:
        """Writes the line about a resync."""
        self._write(self._unfolded())

    def close(self) -> None:
        """Does nothing."""

    def _lines(self, message: Message) -> str:
        if isinstance(message, Reconciled) and message.is_routine and not self._verbose:
            self._resynced.add((message.kind, message.namespace, message.name))
            return ""
        lines = "".join(self._text(line) for line in lines_of(message, verbose=self._verbose))
        return self._unfolded() + lines if lines else ""

    def _unfolded(self) -> str:
        """Returns the line about the reconciles that were folded since the last call; empty if there were none."""
        number = len(self._resynced)
        self._resynced.clear()
        return self._text(Line("reconciled", f"{counted(number, 'object')} in a resync", "dim")) if number else ""

    def _text(self, line: Line) -> str:
        at = time.strftime("%H:%M:%S") if line.word else ""
        word = self._toned(f"{line.word:<{_WORD_WIDTH}}", line.tone)
        tone = "dim" if line.tone == "dim" else ""
        first, *more = self._wrapped(line.text)
        head = f"{self._toned(f'{at:<8}', 'dim')} {word} {self._toned(first, tone)}".rstrip()
        return "".join(f"{one}\n" for one in (head, *(f"{_INDENT}{self._toned(part, tone)}" for part in more)))

    def _wrapped(self, text: str) -> list[str]:
        """Returns the parts of a text that fit into a line. Without a terminal there is no width."""
        return [text]

    def _toned(self, text: str, tone: str) -> str:
        return f"\x1b[{_COLORS[tone]}m{text}\x1b[0m" if self._color and tone else text

    def _write(self, text: str) -> None:
        if text:
            _emit(self._stream, text)


class LiveView(LinesView):
    """Lines above a table of the current objects. The lines stay in the terminal's scrollback."""

    def __init__(
        self,
        stream: TextIO,
        *,
        color: bool = True,
        verbose: bool = False,
        size: Callable[[], os.terminal_size],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(stream, color=color, verbose=verbose)
        self._size = size
        self._now = now
        self._board = Board(now)
        self._drawn = 0
        self._foot = ""

    def show(self, message: Message) -> None:
        """Writes the lines of a message above the table, and redraws the table."""
        looks_different = self._board.add(message)
        match message:
            case ClusterReady(kubeconfig=str(path)):
                self._foot = f"KUBECONFIG={path}"
            case ConsoleReady():
                self._foot = f"{message.url}  {self._foot}"
        lines = self._lines(message)
        if not lines and not looks_different:
            return
        self._write(f"{self._erase()}{lines}{'' if isinstance(message, Stopped) else self._table()}")

    def tick(self) -> None:
        """Redraws the table, which shows ages."""
        self._write(self._erase() + self._unfolded() + self._table())

    def close(self) -> None:
        """Erases the table."""
        self._write(self._erase())

    def _wrapped(self, text: str) -> list[str]:
        """Wraps between words, because terminals wrap within them. A long word, such as a path, stays whole."""
        room = self._size()[0] - len(_INDENT) - 1
        if len(text) <= room or room < _NARROWEST:
            return [text]
        indent = text[: len(text) - len(text.lstrip())]
        return textwrap.wrap(
            text.strip(),
            room,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _erase(self) -> str:
        drawn, self._drawn = self._drawn, 0
        return f"{_UP.format(drawn)}{_ERASE}" if drawn else ""

    def _table(self) -> str:
        width, height = self._size()
        rows = self._board.rows()
        room = max(height // 2 - 3, 1)
        lines = [self._rule(width), *self._rows(rows[:room], width)]
        if len(rows) > room:
            lines.append(self._toned(f"  and {len(rows) - room} more", "dim"))
        foot = f"  {self._foot}  Press Ctrl-C to stop"[: width - 1]
        lines.append(self._toned(foot, "dim"))
        self._drawn = len(lines)
        return "".join(f"{line}\n" for line in lines)

    def _rule(self, width: int) -> str:
        board = self._board
        tone = {"running": "good", "failed": "bad", "ended": "bad"}.get(board.phase, "odd")
        label = f" {board.operator or 'the operator'}: {board.phase} "
        return f"──{self._toned(label, tone)}{'─' * max(width - len(label) - 3, 0)}"

    def _rows(self, rows: Sequence[Row], width: int) -> list[str]:
        """Formats the rows as columns. The last column takes the rest of the line."""
        abouts = [title(row.kind, row.namespace, row.name)[:_LONGEST_NAME] for row in rows]
        states = [(row.state or "-")[:_LONGEST_STATE] for row in rows]
        first, second = (max(map(len, column), default=0) for column in (abouts, states))
        lines = []
        for row, about, state in zip(rows, abouts, states, strict=True):
            text = plain(f"  {about:<{first}}  {state:<{second}}  {self._ending(row)}")
            lines.append(self._toned(text[: width - 1], "bad" if row.failing else ""))
        return lines

    def _ending(self, row: Row) -> str:
        if not row.result:
            return "not reconciled yet"
        ago = f"{format_age(self._now() - row.at)} ago"
        if row.failing:
            return f"failed {ago}{f', attempt {row.attempt}' if row.attempt > 1 else ''}: {row.error}"
        return f"{'ok' if row.result == 'success' else row.result.replace('_', ' ')}, {ago}"


def _emit(stream: TextIO, text: str) -> None:
    """Writes and flushes. Ends the program if the reader has closed the pipe, as `head` does."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # Otherwise Python reports the error again when it flushes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        signal.raise_signal(signal.SIGTERM)


def view_for(stream: TextIO, output: str, environ: Mapping[str, str], *, verbose: bool) -> View:
    """Returns the view: JSON on request, live on a capable terminal, otherwise plain lines."""
    if output == "json":
        return JsonView(stream)
    if not stream.isatty() or environ.get("TERM", "dumb") == "dumb":
        return LinesView(stream, verbose=verbose)
    number = stream.fileno()
    color = not environ.get("NO_COLOR")
    return LiveView(stream, color=color, verbose=verbose, size=lambda: os.get_terminal_size(number))
