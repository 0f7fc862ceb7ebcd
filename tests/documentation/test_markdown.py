"""Rendered pages have the text that another Markdown renderer finds in them."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from kubewright import documentation
from kubewright.documentation import Page, write_site

PAGES = documentation.pages()
JUDGE = MarkdownIt("commonmark").enable("table")


def words(html: str) -> list[str]:
    """The words that a reader sees."""
    html = re.sub(r"</?(?:a|code|em|strong)\b[^>]*>", "", html)  # inside of words; all others separate words
    return unescape(re.sub(r"<[^>]*>", " ", html)).split()


def site(tmp_path: Path, text: str) -> str:
    """The main part of a page."""
    write_site({"index": Page("index", text)}, tmp_path)
    return re.search(r"<main>\n(.*)\n</main>", (tmp_path / "index.html").read_text(), re.DOTALL)[1]  # type: ignore[index]


@pytest.mark.parametrize("name", PAGES)
def test_text_of_a_page_is_that_of_another_renderer(name: str, tmp_path: Path) -> None:
    text = re.sub(r"<!--.*?-->\n?", "", PAGES[name].text, flags=re.DOTALL)
    text = re.sub(r"^( *)```\{.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE)  # directives of Sphinx
    text = re.sub(r"!?\[\]\([^)]*\)|!\[[^\]]*\]\([^)]*\)", "", text)  # titles of pages, and pictures
    assert words(site(tmp_path, text)) == words(JUDGE.render(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A `b` c", '<h1 id="a-b-c">A <code>b</code> c</h1>'),
        ("a <script>x</script> & b", "<p>a &lt;script&gt;x&lt;/script&gt; &amp; b</p>"),
        ("```python\n# <x>\n```", "<pre><code># &lt;x&gt;</code></pre>"),
        ("**a** *b* `c*d*`", "<p><strong>a</strong> <em>b</em> <code>c*d*</code></p>"),
        ("[x](https://example.com/a)", '<p><a href="https://example.com/a">x</a></p>'),
        ("[x](missing.md)", "<p>x</p>"),
        ("1. a\n   b\n2. c", "<ol><li>a\nb</li><li>c</li></ol>"),
        ("- a\n  - b", "<ul><li>a\n<ul><li>b</li></ul></li></ul>"),
        (
            "| a | b |\n|---|---|\n| `x \\| y` | c |",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td><code>x | y</code></td><td>c</td></tr>"
            "</tbody></table>",
        ),
    ],
)
def test_renders(text: str, expected: str, tmp_path: Path) -> None:
    assert site(tmp_path, text) == expected


def test_every_link_between_pages_leads_to_a_file_and_an_anchor(tmp_path: Path) -> None:
    write_site(PAGES, tmp_path)
    anchors = {file: set(re.findall(r' id="([^"]*)"', file.read_text())) for file in tmp_path.rglob("*.html")}
    broken = []
    for file in anchors:
        for address in re.findall(r'href="(?!https?:|mailto:)([^"]*)"', file.read_text()):
            path, _, anchor = unescape(address).partition("#")
            target = (file.parent / path).resolve() if path else file
            if not target.exists() or (anchor and anchor not in anchors[target]):
                broken.append(f"{file.name}: {address}")
    assert broken == []
