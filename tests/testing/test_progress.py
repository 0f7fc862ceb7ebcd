from __future__ import annotations

import io

import pytest

from kubewright.testing._progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_elsewhere_than_on_a_terminal_there_are_plain_lines() -> None:
    text = io.StringIO()
    progress = Progress(text)
    with progress.step("bake"):
        progress.say("still warm")
    assert text.getvalue() == "bake ...\nstill warm\nbake: done in 0 s\n"


def test_a_terminal_sees_one_line_that_is_replaced() -> None:
    text = Terminal()
    with Progress(text).step("bake"):
        pass
    assert text.getvalue().endswith("\r\x1b[K✓ bake: done in 0 s\n")
    assert text.getvalue().count("\n") == 1


def test_a_step_that_fails_is_not_reported_as_done() -> None:
    text = io.StringIO()
    with pytest.raises(ValueError), Progress(text).step("bake"):
        raise ValueError
    assert "done" not in text.getvalue()


def test_quiet_is_quiet() -> None:
    text = io.StringIO()
    progress = Progress(text, quiet=True)
    with progress.step("bake"):
        progress.say("anything")
    assert text.getvalue() == ""
