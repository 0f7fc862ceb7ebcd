"""The views for users and for scripts."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

import kubewright
from kubewright.development import JsonView, LinesView, LiveView, schema_changes, view_for
from kubewright.development.messages import (
    Applied,
    ClusterReady,
    Ended,
    EventSeen,
    Failed,
    Installed,
    KindShown,
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
from kubewright.development.views import Board, lines_of

OURS = Path(kubewright.__file__).parent
NOTE = KindShown(api_version="dev.example.com/v1", kind="Note", plural="notes", namespaced=True)


def seen(name: str, state: str = "", change: str = "added") -> ObjectSeen:
    return ObjectSeen(kind="Note", namespace="default", name=name, change=change, state=state)  # type: ignore[arg-type]


def reconciled(name: str, error: str = "", attempt: int = 1, trigger: str = "updated") -> Reconciled:
    result = "error" if error else "success"
    return Reconciled(
        kind="Note",
        namespace="default",
        name=name,
        result=result,
        seconds=0.0123,
        attempt=attempt,
        error=error,
        trigger=trigger,
    )


def texts(message: Message, *, verbose: bool = False) -> list[str]:
    return [f"{line.word}: {line.text}" for line in lines_of(message, verbose=verbose)]


def test_shows_each_message_as_a_line() -> None:
    ready = ClusterReady(server="https://127.0.0.1:1", kubeconfig="/tmp/it's", embedded=True)
    assert texts(ready) == [
        "cluster: the embedded cluster is ready at https://127.0.0.1:1",
        "kubectl: export KUBECONFIG='/tmp/it'\"'\"'s'",
    ]
    given = ClusterReady(server="https://it", kubeconfig=None, context="kind-kind", embedded=False)
    assert texts(given) == ["cluster: the cluster is ready at https://it", "kubectl: kubectl --context kind-kind"]
    assert texts(Starting(targets=["a.py"], changed=[])) == ["starting: loading a.py"]
    assert texts(Starting(targets=["a.py"], changed=["b.py"])) == ["starting: b.py changed: loading a.py"]
    assert texts(Applied(kind="Note", namespace="", name="a", file="a.yaml")) == ["applied: Note a of a.yaml"]
    assert texts(seen("a", "Ready")) == ["object: Note default/a: Ready"]
    assert texts(seen("a", change="deleted")) == ["object: Note default/a was deleted"]
    assert texts(reconciled("a")) == ["reconciled: Note default/a in 12ms"]
    assert texts(reconciled("a", "ValueError: no", 3)) == []  # the log has it
    assert texts(Ended(code=7)) == ["ended: the operator exited with code 7; save a file to restart it"]
    assert texts(Failed(what="sample", text="no such field", file="a.yaml")) == [
        "failed: the sample cannot be applied a.yaml: no such field"
    ]


def test_shows_an_error_with_its_lines_of_the_program() -> None:
    failed = Failed(what="import", text="Traceback:\n    x = (\nSyntaxError: never closed\n", file="a.py", line=3)
    assert texts(failed) == [
        "failed: the program cannot be imported at a.py:3:",
        ": Traceback:",
        ":     x = (",
        ": SyntaxError: never closed",
    ]


def test_shows_lifecycle_logs_only_with_verbose() -> None:
    life = Logged(level="info", logger="kubewright.operator", message="operator notes has started")
    assert texts(life) == []
    assert texts(life, verbose=True) == ["info: operator notes has started"]
    about = Logged(level="error", logger="app", message="no", kind="Note", namespace="a", name="b", traceback="x\ny\n")
    assert texts(about) == ["error: Note a/b: no", ": x", ": y"]


TRACE = f"""\
Traceback (most recent call last):
  File "{OURS}/controller/_controller.py", line 1, in _handle
    result = await self._processing.run(key, record, run)
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "{OURS}/controller/_processing.py", line 2, in run
    return await self._call(self._reconcile, backend)
  File "/work/note.py", line 7, in sync
    await ctx.apply(child)
  File "{OURS}/controller/_context.py", line 3, in apply
    await client.apply(obj)
  File "{OURS}/client/_client.py", line 4, in apply
    raise error
ValueError: no
    second line of the message
"""


def test_failure_is_shown_once_with_the_frames_of_the_program() -> None:
    failure = Logged(
        level="error",
        logger="kubewright.controller.note",
        message="Note a/b: reconcile failed, attempt 1, retrying in 5ms: ValueError: no",
        kind="Note",
        namespace="a",
        name="b",
        traceback=TRACE,
    )
    assert texts(failure) == [
        "failing: Note a/b: reconcile failed, attempt 1, retrying in 5ms: ValueError: no",
        ": Traceback (most recent call last):",
        ':   File "/work/note.py", line 7, in sync',
        ":     await ctx.apply(child)",
        ":   (2 frames of Kubewright)",
        ": ValueError: no",
        ":     second line of the message",
    ]
    assert len(texts(failure, verbose=True)) == 1 + len(TRACE.splitlines())


def test_traceback_without_frames_of_the_program_is_kept() -> None:
    ours = TRACE.replace("/work/note.py", f"{OURS}/note.py")
    logged = Logged(level="error", logger="app", message="no", traceback=ours)
    assert texts(logged)[1:] == [f": {line}" for line in ours.rstrip().splitlines()]


@pytest.mark.promise("Development", "No terminal obeys what comes from a cluster or a program in development.")
@pytest.mark.parametrize(
    "message",
    [
        Output(text="\x1b[2J\x1b]0;owned\x07"),
        EventSeen(kind="K", namespace="", name="n", severity="Warning", reason="R\x9b", message="a\nb\r", count=2),
        Logged(level="info", logger="app", message="\x1b[31m"),
        seen("a", "State=\u202egnp.exe"),
        Failed(what="sample", text="\x1b[1A", file="\x1b[2K"),
    ],
)
def test_escapes_control_characters_from_the_cluster(message: Message) -> None:
    stream = io.StringIO()
    LinesView(stream).show(message)
    assert all(each.isprintable() for each in stream.getvalue().replace("\n", ""))


@pytest.mark.promise("Development", "No terminal obeys what comes from a cluster or a program in development.")
def test_hides_secrets() -> None:
    token = f"eyJ{'a' * 20}.{'b' * 20}.{'c' * 20}"
    assert token not in "".join(texts(Output(text=f"the token is {token}")))


@pytest.mark.promise(
    "Development",
    "A terminal shows a live table with colors, a pipe plain lines, and scripts get JSON.",
)
def test_json_is_one_document_per_line() -> None:
    stream = io.StringIO()
    view = JsonView(stream)
    view.show(seen("a", "Ready"))
    view.tick()
    view.show(Stopped())
    view.close()
    first, last = map(json.loads, stream.getvalue().splitlines())
    assert (first["type"], first["name"], first["state"], last["type"]) == ("object", "a", "Ready", "stopped")
    assert first["time"].endswith("Z")


# The live table


def test_the_board_tracks_objects_and_failures() -> None:
    board = Board(lambda: 0.0)
    board.add(Loaded(operator="notes", kinds=[NOTE], files=[]))
    for message in (seen("b"), seen("a"), reconciled("b", "ValueError: no"), reconciled("ghost")):
        board.add(message)
    assert [(row.name, row.failing) for row in board.rows()] == [("b", True), ("a", False)]
    board.add(seen("b", change="deleted"))
    board.add(Ready(operator="notes", address=""))
    assert ([row.name for row in board.rows()], board.phase) == (["a"], "running")
    board.add(Failed(what="sample", text="no"))
    assert board.phase == "running"
    board.add(Failed(what="import", text="no"))
    assert str(board.phase) == "failed"
    board.add(Loaded(operator="notes", kinds=[], files=[]))
    assert board.rows() == []


def test_keeps_the_table_below_the_lines() -> None:
    stream, now = io.StringIO(), [0.0]
    size = os.terminal_size((80, 10))
    view = LiveView(stream, color=False, size=lambda: size, now=lambda: now[0])
    view.show(ClusterReady(server="https://127.0.0.1:1", kubeconfig="/k", embedded=True))
    view.show(Loaded(operator="notes", kinds=[NOTE], files=[]))
    view.show(Ready(operator="notes", address="127.0.0.1:2"))
    for name in ("a", "b", "c", "d"):
        view.show(seen(name, "Ready"))
    view.show(reconciled("c", "ValueError: " + "no " * 100, attempt=2))
    now[0] = 5.0
    stream.truncate(0)
    view.tick()
    table = stream.getvalue().split("\x1b[J")[-1].splitlines()
    assert table[0].startswith("── notes: running ─")
    assert table[1].startswith("  Note default/c ")  # failing objects come first
    assert "failed 5s ago, attempt 2: ValueError" in table[1]
    assert all(len(line) < 80 for line in table)
    assert table[3:] == ["  and 2 more", "  KUBECONFIG=/k  Press Ctrl-C to stop"]
    assert f"\x1b[{len(table)}F" in stream.getvalue()  # the next update replaces exactly these lines
    stream.truncate(0)
    view.show(Stopped())
    assert "──" not in stream.getvalue()
    view.close()


def test_chooses_the_view_by_stream_and_environment() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            return 1

    assert type(view_for(Terminal(), "text", {"TERM": "xterm"}, verbose=False)) is LiveView
    assert type(view_for(Terminal(), "text", {"TERM": "dumb"}, verbose=False)) is LinesView
    assert type(view_for(io.StringIO(), "text", {"TERM": "xterm"}, verbose=False)) is LinesView
    assert type(view_for(Terminal(), "json", {"TERM": "xterm"}, verbose=False)) is JsonView


def test_folds_the_reconciles_of_a_resync_into_one_line() -> None:
    stream = io.StringIO()
    view = LinesView(stream)
    for number in range(50):
        view.show(reconciled(f"note-{number % 25}", trigger="resync" if number % 2 else "Deployment resync"))
    assert stream.getvalue() == ""
    view.show(reconciled("changed"))
    view.show(reconciled("again", trigger="resync"))
    view.tick()
    view.tick()
    assert [line.split(maxsplit=1)[1] for line in stream.getvalue().splitlines()] == [
        "reconciled 25 objects in a resync",
        "reconciled Note default/changed in 12ms",
        "reconciled 1 object in a resync",
    ]
    stream = io.StringIO()
    verbose = LinesView(stream, verbose=True)
    verbose.show(reconciled("a", trigger="resync"))
    assert "Note default/a in 12ms" in stream.getvalue()


def test_wraps_lines_between_words_on_a_terminal() -> None:
    stream = io.StringIO()
    path = "/a/path/that/is/far/too/long/for/one/line/of/this/narrow/terminal.py"
    view = LiveView(stream, color=False, size=lambda: os.terminal_size((60, 24)))
    view.show(Output(text=f"    The quick brown fox jumps over the lazy dog and reads {path} afterwards"))
    shown = [line for line in stream.getvalue().splitlines() if line and "─" not in line and "Ctrl-C" not in line]
    assert [line[20:] for line in shown] == [
        "    The quick brown fox jumps over the",
        "      lazy dog and reads",
        f"      {path}",
        "      afterwards",
    ]
    stream = io.StringIO()
    LinesView(stream).show(Output(text="word " * 100))
    assert len(stream.getvalue().splitlines()) == 1


def test_shows_the_fields_that_a_redefined_kind_changed() -> None:
    changes = ["+ spec.color: string", "~ spec.size: string → integer"]
    message = Installed(definitions=["notes.example.com"], changes={"notes.example.com": changes})
    assert texts(message) == [
        "defined: notes.example.com",
        "schema: notes.example.com has changed:",
        ":   + spec.color: string",
        ":   ~ spec.size: string → integer",
    ]
    many = Installed(definitions=["n"], changes={"n": [f"+ spec.a{number}: string" for number in range(30)]})
    assert texts(many)[-1] == ":   and 10 more"
    assert len(texts(many)) == 23


def test_schema_changes_name_fields_types_and_constraints() -> None:
    before = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "string", "description": "old"},
                    "gone": {"type": "boolean"},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    "same": {"type": "string", "description": "old"},
                },
            }
        },
    }
    after = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "minimum": 1},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
                    "labels": {"type": "object", "additionalProperties": {"type": "string", "enum": ["x"]}},
                    "same": {"type": "string", "description": "new"},
                },
            }
        },
    }
    assert schema_changes(before, after) == [
        "- spec.gone: boolean",
        "+ spec.labels: object",
        '+ spec.labels.*: string, enum ["x"]',
        "~ spec.list[].a: string → integer",
        "~ spec.size: string, required → integer, minimum 1",
    ]
    assert schema_changes(after, after) == []
