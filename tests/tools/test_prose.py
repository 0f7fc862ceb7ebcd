"""The report about prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.prose import findings, main, paragraphs, sentences

PAGE = """# A heading

The first paragraph
has two lines. And two sentences.

- an item
  that continues
- another item

| a | table |
|---|---|

```python
code = "is not prose"
```

<!-- a comment -->
The last one.
"""


def test_reads_paragraphs_and_items_only() -> None:
    assert [(each.line, each.text) for each in paragraphs(PAGE)] == [
        (3, "The first paragraph has two lines. And two sentences."),
        (6, "an item that continues"),
        (8, "another item"),
        (18, "The last one."),
    ]


def test_counts_code_as_a_word_and_a_link_as_its_text() -> None:
    text = "Run `kubewright test -q`. See [the page](x.md). e.g. this is one sentence"
    assert [len(each.split()) for each in sentences(text)] == [2, 8]


def test_reports_long_sentences_with_the_line() -> None:
    [long, average] = findings("a.md", "Fine.\n\n" + "word " * 60 + "end.\n")
    assert (long.line, long.problem.split(":")[0]) == (3, "a sentence of 61 words")
    assert "on average" in average.problem


def test_reports_paragraphs_that_are_mostly_passive() -> None:
    passive = "The object is stored. It is never changed. It was written by a client. The client waits."
    [found] = findings("a.md", passive)
    assert found.problem == "3 of 4 sentences are passive"
    assert list(findings("a.md", "The server stores the object. No client changes it. A client wrote it.")) == []


def test_never_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "a.md"
    page.write_text("word " * 60)
    assert main([str(page)]) == 0
    assert "1 pages, 2 places to rewrite (reported, not failed)" in capsys.readouterr().out
