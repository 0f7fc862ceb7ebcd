"""The generator of diagrams, and the diagrams of the documentation."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.diagrams import FOLDER, DiagramError, draw, main

SOURCE = """
title Two boxes
box one 0 0 One: the first
box two 1 0 green Two & a half   # drawn to the right of the first one
arrow one two goes to
dashed two one returns
note 0 0 above
"""


def test_draws_boxes_arrows_and_notes() -> None:
    picture = ElementTree.fromstring(draw(SOURCE))
    names = {"svg": "http://www.w3.org/2000/svg"}
    texts = [text.text for text in picture.iterfind("svg:text", names)]
    assert texts == ["goes to", "returns", "One", "the first", "Two & a half", "above"]
    assert len(picture.findall("svg:rect", names)) == 2
    assert len([path for path in picture.iterfind("svg:path", names) if "stroke-dasharray" in path.attrib]) == 1
    assert (picture.get("role"), picture.get("aria-label")) == ("img", "Two boxes")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("title One\ncircle a 0 0 A", "line 2: unknown statement 'circle'"),
        ("title One\nbox a 0", "line 2: 'box a 0' is incomplete"),
        ("title One\nbox a zero 0 A", "line 2: .* is incomplete"),
        ("title One\nbox a 0 0 A\narrow a b", "an arrow names the box 'b', which does not exist"),
        ("box a 0 0 A", "the title is missing"),
    ],
)
def test_rejects_invalid_sources(source: str, message: str) -> None:
    with pytest.raises(DiagramError, match=message):
        draw(source)


def test_diagrams_are_up_to_date() -> None:
    assert {source.stem for source in FOLDER.glob("*.diagram")} == {path.stem for path in FOLDER.glob("*.svg")}
    assert main(["--check"]) == 0


def test_check_reports_an_outdated_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.diagram").write_text(SOURCE)
    monkeypatch.setattr("tools.diagrams.ROOT", tmp_path)
    monkeypatch.setattr("tools.diagrams.FOLDER", folder)
    assert main(["--check"]) == 1
    assert "docs/a.svg is out of date; run: python -m tools.diagrams" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0
