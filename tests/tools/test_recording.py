"""The terminal recording of the README."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tools.recording import SESSION, Line, draw, main, parse

SVG = {"svg": "http://www.w3.org/2000/svg"}


def test_draws_each_line_in_order_and_wraps_long_ones() -> None:
    picture = ElementTree.fromstring(draw([Line(0.2, "$ echo <&>"), Line(9.0, "x" * 120)]))
    assert [text.text for text in picture.iterfind("svg:text", SVG)] == ["$ echo <&>", "x" * 100, "    " + "x" * 20]


def test_shortens_pauses() -> None:
    assert "animation:r0 7.2s" in draw([Line(0.2, "$ true"), Line(60.0, "done")])


def test_shows_everything_to_readers_who_disable_motion() -> None:
    picture = draw([Line(0.2, "$ true")])
    assert picture.index("prefers-reduced-motion: no-preference") < picture.index(".r0{animation")


@pytest.mark.parametrize("session", ["$ true\n", "2.0 a\n1.0 b\n"])
def test_rejects_invalid_sessions(session: str) -> None:
    with pytest.raises(ValueError, match=r"line \d: expected seconds that grow"):
        parse(session)


def test_recording_of_the_readme_is_up_to_date() -> None:
    assert main(["--check"]) == 0
    assert any("Available=3" in line.text for line in parse(SESSION.read_text(encoding="utf-8")))
