from __future__ import annotations

import io

import pytest

from kubewright.progress import Progress


@pytest.fixture(autouse=True)
def a_terminal_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_writes_plain_lines_without_a_terminal() -> None:
    text = io.StringIO()
    progress = Progress(text)
    with progress.step("bake"):
        progress.say("still warm")
    assert text.getvalue() == "bake ...\nstill warm\nbake: done in 0s\n"


def test_a_terminal_sees_one_line_that_is_replaced() -> None:
    text = Terminal()
    with Progress(text).step("bake"):
        pass
    assert text.getvalue().endswith("\r\x1b[K✓ bake: done in 0s\n")
    assert text.getvalue().count("\n") == 1


def test_a_step_that_fails_is_not_reported_as_done() -> None:
    text = io.StringIO()
    with pytest.raises(ValueError), Progress(text).step("bake"):
        raise ValueError
    assert "done" not in text.getvalue()


def test_quiet_writes_nothing() -> None:
    text = io.StringIO()
    progress = Progress(text, quiet=True)
    with progress.step("bake"):
        progress.say("anything")
    assert text.getvalue() == ""


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("NO_COLOR", "1")])
def test_writes_plain_lines_without_escape_codes(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    text = Terminal()
    with Progress(text).step("bake"):
        pass
    assert text.getvalue() == "bake ...\nbake: done in 0s\n"


def test_a_step_without_lines_leaves_nothing_behind() -> None:
    elsewhere, terminal = io.StringIO(), Terminal()
    for text in (elsewhere, terminal):
        with Progress(text).step("bake", lines=False):
            pass
    assert elsewhere.getvalue() == ""
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert "\n" not in terminal.getvalue()


def test_clear_removes_the_spinner() -> None:
    text = Terminal()
    Progress(text).clear()
    assert text.getvalue() == "\r\x1b[K"
