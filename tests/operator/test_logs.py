"""The log: what stands in a line, and what never does."""

from __future__ import annotations

import io
import json
import logging
import random
from collections.abc import Iterator

import pytest

from kubewright.api import core
from kubewright.cache import ObjectKey
from kubewright.client import Trace
from kubewright.clock import VirtualClock
from kubewright.controller import Context, ObjectLogger
from kubewright.operator import Operator, Settings
from kubewright.operator.logs import JsonFormatter, PrettyFormatter, set_up_logging
from tests.controller.conftest import Thing, thing, working

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"


class Lines(logging.Handler):
    """What a formatter makes of the records that reach it."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def logs() -> Iterator[tuple[Lines, Lines]]:
    """The log as JSON and as people read it."""
    root, both = logging.getLogger(), (Lines(JsonFormatter()), Lines(PrettyFormatter()))
    level = root.level
    root.setLevel(logging.DEBUG)
    for handler in both:
        root.addHandler(handler)
    yield both
    for handler in both:
        root.removeHandler(handler)
    root.setLevel(level)


def of_object(trace: Trace | None = None) -> ObjectLogger:
    return ObjectLogger("foo", "Foo", ObjectKey("shop", "till"), trace)


@pytest.mark.promise(
    "Running an operator",
    "The log is for people on a terminal and JSON elsewhere, and names object and trace.",
)
def test_line_about_an_object_names_object_and_trace(logs: tuple[Lines, Lines]) -> None:
    trace = Trace(random.Random(1))
    of_object(trace).info("sold %d", 3, extra={"till": 7})
    line = json.loads(logs[0].lines[0])
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "kubewright.controller.foo",
        "message": "Foo shop/till: sold 3",
        "controller": "foo",
        "kind": "Foo",
        "namespace": "shop",
        "name": "till",
        "trace": trace.trace_id,
        "till": 7,
    }
    assert logs[1].lines[0].endswith(" INFO    Foo shop/till: sold 3 till=7")


@pytest.mark.promise(
    "Running an operator",
    "The log is for people on a terminal and JSON elsewhere, and names object and trace.",
)
def test_a_line_of_another_logger_belongs_to_the_reconcile_that_runs(logs: tuple[Lines, Lines]) -> None:
    class Reconcile(Trace):
        controller, info, key = "foo", core.ConfigMap.__resource__, ObjectKey("", "till")

    trace = Reconcile(random.Random(1))
    with trace.current():
        logging.getLogger("somewhere.else").info("hello")
    line = json.loads(logs[0].lines[0])
    assert [line[name] for name in ("controller", "kind", "namespace", "name", "trace")] == [
        "foo",
        "ConfigMap",
        "",
        "till",
        trace.trace_id,
    ]
    assert logs[1].lines[0].endswith("ConfigMap till: hello")


async def test_line_of_another_thread_belongs_to_the_reconcile(logs: tuple[Lines, Lines]) -> None:
    operator, clock = Operator("mine"), VirtualClock()

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        logging.getLogger("somewhere.else").info("from %s", ctx.trace)

    async with working(operator, clock) as stage:
        stage.put(thing("till"))
        await clock.settled()
    [line] = [line for line in map(json.loads, logs[0].lines) if line["logger"] == "somewhere.else"]
    assert (line["controller"], line["kind"], line["namespace"], line["name"]) == ("thing", "Thing", "default", "till")
    assert line["message"] == f"from {line['trace']}"


@pytest.mark.promise(
    "Running an operator",
    "The log is for people on a terminal and JSON elsewhere, and names object and trace.",
)
def test_an_exception_keeps_its_traceback_in_one_line(logs: tuple[Lines, Lines]) -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        of_object().exception("it went wrong")
    [text] = logs[0].lines
    assert "\n" not in text
    line = json.loads(text)
    assert line["error"] == "ValueError: first\nsecond"
    assert line["traceback"].startswith("Traceback (most recent call last):")
    assert "test_logs.py" in line["traceback"]
    assert logs[1].lines[0].splitlines()[1] == "    Traceback (most recent call last):"


@pytest.mark.promise("Running an operator", "The log shows no secret, and escapes untrusted content.")
@pytest.mark.parametrize(
    "secret",
    [
        f"the token is {TOKEN}, I think",
        "Authorization: Bearer 0123456789abcdef0123456789abcdef",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    ],
    ids=["token", "header", "key"],
)
def test_tokens_and_keys_do_not_appear(logs: tuple[Lines, Lines], secret: str) -> None:
    hidden = ("c2lnbmF0dXJl", "0123456789abcdef", "MIIEow")
    try:
        raise RuntimeError(secret)
    except RuntimeError:
        logging.getLogger("x").exception("%s", secret, extra={"also": secret, "deep": {"in": [secret]}})
    for lines in logs:
        assert "(withheld)" in lines.lines[0]
        assert not [word for word in hidden if word in lines.lines[0]]


@pytest.mark.promise("Running an operator", "The log shows no secret, and escapes untrusted content.")
def test_an_object_as_an_extra_is_not_shown_field_by_field(logs: tuple[Lines, Lines]) -> None:
    secret = core.Secret(string_data={"password": "hunter2"})
    logging.getLogger("x").info("there", extra={"obj": secret, "objs": [secret]})
    for lines in logs:
        assert "hunter2" not in lines.lines[0]


@pytest.mark.promise("Running an operator", "The log shows no secret, and escapes untrusted content.")
@pytest.mark.parametrize("hostile", ["a\nb", "\x1b[31mred", "\u202egnp.exe", "\x00\x7f\x9b"])
def test_escapes_line_breaks_and_control_characters(logs: tuple[Lines, Lines], hostile: str) -> None:
    logging.getLogger("x").info("name is %s", hostile)
    assert json.loads(logs[0].lines[0])["message"] == f"name is {hostile}"
    pretty = logs[1].lines[0]
    assert all(line.startswith("    ") for line in pretty.splitlines()[1:])
    assert not {"\x1b", "\x00", "\x7f", "\x9b", "\u202e"} & set(pretty)


def test_logs_message_with_wrong_arguments(logs: tuple[Lines, Lines]) -> None:
    class Broken:
        def __str__(self) -> str:
            raise OSError("no")

    wrong = logging.LogRecord("x", logging.INFO, "", 1, "%d %d", ("one",), None)
    assert "'%d %d' with ('one',) (TypeError: " in json.loads(JsonFormatter().format(wrong))["message"]
    logging.getLogger("x").info("fine", extra={"broken": Broken(), "lone": "\ud800"})
    line = json.loads(logs[0].lines[0])
    assert "str() raised OSError" in line["broken"]
    assert line["lone"] == "\\ud800"


def test_truncates_long_messages(logs: tuple[Lines, Lines]) -> None:
    logging.getLogger("x").info("%s", "x" * 100_000)
    assert all(len(lines.lines[0]) < 20_000 for lines in logs)


# Setting it up


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """The root logger of a program that has not arranged anything."""
    made = logging.getLogger()
    level, handlers = made.level, list(made.handlers)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    yield made
    made.handlers[:] = handlers
    made.setLevel(level)
    logging.captureWarnings(False)


def written(
    settings: Settings, stream: io.StringIO, level: int = logging.INFO, arranged: logging.Handler | None = None
) -> str:
    logging.getLogger().handlers[:] = [arranged] if arranged is not None else []
    set_up_logging(settings, stream)
    logging.getLogger("x").log(level, "hello")
    return stream.getvalue()


@pytest.mark.promise(
    "Running an operator",
    "The log is for people on a terminal and JSON elsewhere, and names object and trace.",
)
def test_is_colored_on_a_terminal_and_json_elsewhere(root: logging.Logger) -> None:
    assert "\x1b[32mINFO   \x1b[0m hello" in written(Settings(), Terminal())
    assert json.loads(written(Settings(), io.StringIO()))["message"] == "hello"


def test_no_color_disables_color(root: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in written(Settings(), Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in written(Settings(), Terminal())


def test_uses_configured_format(root: logging.Logger) -> None:
    assert json.loads(written(Settings(log_format="json"), Terminal()))["message"] == "hello"
    pretty = written(Settings(log_format="pretty"), io.StringIO())
    assert pretty.endswith("INFO    hello\n")
    assert "\x1b" not in pretty


@pytest.mark.parametrize(("level", "shown"), [(None, False), ("debug", True), ("error", False)])
def test_level_filters_lines(root: logging.Logger, level: str | None, shown: bool) -> None:
    assert bool(written(Settings(log_level=level), io.StringIO(), logging.DEBUG)) is shown


@pytest.mark.promise("Running an operator", "A log that the program has arranged is left alone.")
def test_keeps_logging_configuration_of_the_program(root: logging.Logger) -> None:
    theirs = Lines(logging.Formatter("%(message)s"))
    root.setLevel(logging.WARNING)
    assert written(Settings(), io.StringIO(), arranged=theirs) == ""
    assert root.level == logging.WARNING
    assert written(Settings(log_level="debug"), io.StringIO(), arranged=theirs) == ""
    assert root.level == logging.DEBUG
    assert theirs.lines == ["hello"]
    assert written(Settings(log_format="json"), io.StringIO(), arranged=theirs) != ""
    assert theirs.lines == ["hello"]
