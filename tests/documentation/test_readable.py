"""Pages as `kubewright docs --text` prints them."""

from __future__ import annotations

from kubewright.documentation import Page, readable

OTHER = Page("guide/other", "# The other page\n")


def read(text: str) -> str:
    page = Page("guide/page", text)
    return readable(page, {page.name: page, OTHER.name: OTHER})


def test_names_the_page_of_a_link_without_a_label() -> None:
    assert read("See [](other.md#part).") == "See [The other page](other.md#part)."


def test_keeps_labels_and_links_to_missing_pages() -> None:
    assert read("[a](other.md), [](missing.md)") == "[a](other.md), [missing.md](missing.md)"


def test_removes_notes_for_tests() -> None:
    assert read("Run:\n\n<!-- masks: time;\nexit: 1 -->\n```console\n$ ls\n```\n") == "Run:\n\n```console\n$ ls\n```\n"


def test_keeps_code_as_it_is() -> None:
    code = "```html\n<!-- kept -->\n[](other.md)\n```\nand `[](other.md)`\n"
    assert read(code) == code
