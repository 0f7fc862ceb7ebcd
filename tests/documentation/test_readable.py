"""Pages as `kubewright docs --text` prints them."""

from __future__ import annotations

from kubewright.documentation import Page, readable


def read(text: str) -> str:
    return readable(Page("guide/page", text))


def test_removes_notes_for_tests() -> None:
    assert read("Run:\n\n<!-- masks: time;\nexit: 1 -->\n```console\n$ ls\n```\n") == "Run:\n\n```console\n$ ls\n```\n"


def test_keeps_code_as_it_is() -> None:
    code = "```html\n<!-- kept -->\n```\nand `<!-- kept -->`\n"
    assert read(code) == code
