"""The word list of the project's prose."""

from __future__ import annotations

import pytest

from tools.words import hits_in, problems


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the error is told once", ["is told"]),
        ("def test_nobody_waits() -> None: ...", ["nobody"]),
        ("Unless given, the pod's namespace.", ["Unless given"]),
        ("this is no error", ["is no error"]),
        ("there is no error, and it is no longer served", []),
        ("the colour of the behaviour", ["colour", "behaviour"]),
        ("Logs the error once. The client retries indefinitely.", []),
    ],
)
def test_finds_words_in_prose_and_names(text: str, words: list[str]) -> None:
    assert [hit.word for hit in hits_in(text)] == words


def test_names_the_line_and_the_replacement() -> None:
    [hit] = hits_in("fine\nread anew")
    assert (hit.line, hit.instead) == (2, "again, from scratch, a new")


def test_rejects_more_words_than_allowed() -> None:
    assert list(problems({"a.py": 2}, {"a.py": 2})) == []
    [more] = problems({"a.py": 3}, {"a.py": 2})
    assert "a.py: 3 such words, 2 allowed" in more
    [new] = problems({"b.py": 1}, {})
    assert "b.py: 1 such words, 0 allowed" in new


def test_demands_that_a_lower_count_is_recorded() -> None:
    [lower] = problems({}, {"a.py": 2})
    assert "run: python -m tools.words --update" in lower
