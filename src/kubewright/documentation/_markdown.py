"""Renders the Markdown of our pages to HTML: the part of CommonMark that they use, tables, and Sphinx' directives.

Everything is escaped: no HTML of a page reaches the result. A test compares the text with another renderer's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

__all__ = ["rendered", "slug"]

Link = Callable[[str, str], tuple[str, str]]
"""Returns address and label of a link, from what a page says: `("cache.md#x", "")`."""

_FENCE = re.compile(r"( *)(```+|~~~+) *(.*)$")
_HEADING = re.compile(r"(#{1,6}) +(.+?)(?: +#+)?$")
_ITEM = re.compile(r"( *)([-*+]|\d+[.)]) +(.*)$")
_RULE = re.compile(r" *\|? *:?-{2,}:? *(?:\| *:?-{2,}:? *)*\|? *$")
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|!\[(?P<alt>[^\]]*)\]\([^)\s]*\)"
    r"|\[(?P<label>(?:[^\[\]]|`[^`]*`|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)"
    r"|<(?P<auto>https?://[^>\s]+)>"
    r"|\*\*(?P<bold>.+?)\*\*"
    r"|(?<![\w*])\*(?P<italic>[^*\s](?:[^*]*[^*\s])?)\*(?!\w)",
    re.DOTALL,
)


def slug(heading: str) -> str:
    """Returns the anchor of a heading, as Sphinx makes it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda found: found[1] or "", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")


def rendered(text: str, link: Link) -> str:
    """Returns the HTML of a page."""
    return _blocks(re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL).splitlines(), link)


def _blocks(lines: list[str], link: Link) -> str:
    parts, index = list[str](), 0
    while index < len(lines):
        line = lines[index]
        if not line.strip():
            index += 1
        elif fence := _FENCE.match(line):
            index, part = _fenced(lines, index, fence, link)
            parts.append(part)
        elif heading := _HEADING.match(line):
            level, title = len(heading[1]), heading[2]
            parts.append(f'<h{level} id="{escape(slug(title))}">{inline(title, link)}</h{level}>')
            index += 1
        elif "|" in line and index + 1 < len(lines) and _RULE.match(lines[index + 1]) and "|" in lines[index + 1]:
            end = _until(lines, index, lambda one: "|" not in one)
            parts.append(_table(lines[index:end], link))
            index = end
        elif item := _ITEM.match(line):
            end = _end_of_list(lines, index, len(item[1]))
            parts.append(_list(lines[index:end], item, link))
            index = end
        elif line.lstrip().startswith(">"):
            end = _until(lines, index, lambda one: not one.lstrip().startswith(">"))
            quoted = [re.sub(r"^ *> ?", "", one) for one in lines[index:end]]
            parts.append(f"<blockquote>{_blocks(quoted, link)}</blockquote>")
            index = end
        else:
            end = _until(lines, index + 1, _begins_block)
            parts.append(f"<p>{inline(chr(10).join(one.strip() for one in lines[index:end]), link)}</p>")
            index = end
    return "\n".join(parts)


def _until(lines: list[str], index: int, ends: Callable[[str], object]) -> int:
    while index < len(lines) and lines[index].strip() and not ends(lines[index]):
        index += 1
    return index


def _begins_block(line: str) -> bool:
    item = _ITEM.match(line)
    # As in CommonMark, only a list that starts with 1 interrupts a paragraph.
    begins_list = item is not None and item[2] in ("-", "*", "+", "1.", "1)")
    return bool(_FENCE.match(line) or _HEADING.match(line)) or begins_list or line.lstrip().startswith(">")


def _ends_fence(line: str, marker: str) -> bool:
    return len(line) >= len(marker) and line == marker[0] * len(line)


def _fenced(lines: list[str], index: int, fence: re.Match[str], link: Link) -> tuple[int, str]:
    indent, marker, info = len(fence[1]), fence[2], fence[3].strip()
    end = index + 1
    while end < len(lines) and not _ends_fence(lines[end].strip(), marker):
        end += 1
    body = [one[indent:] if not one[:indent].strip() else one.lstrip() for one in lines[index + 1 : end]]
    if info.startswith("{toctree}"):
        entries = [one.strip() for one in body if one.strip() and not one.startswith(":")]
        matches = [re.fullmatch(r"(?:(.*?) *<(.+)>|(.+))", one) for one in entries]
        pairs = [link(f"{one[2] or one[3]}.md", one[1] or "") for one in matches if one]
        items = "".join(f'<li><a href="{escape(address)}">{escape(label)}</a></li>' for address, label in pairs)
        return end + 1, f"<ul>{items}</ul>"
    if info.startswith("{literalinclude}"):
        name = info.partition("}")[2].strip()
        return end + 1, f"<p><code>{escape(name.removeprefix('../'))}</code></p>"
    if info.startswith("{"):
        body = [one for one in body if not re.match(r":\w+:", one)]
    return end + 1, f"<pre><code>{escape(chr(10).join(body))}</code></pre>"


def _table(lines: list[str], link: Link) -> str:
    rows = [[cell.strip().replace("\\|", "|") for cell in _cells(line)] for line in lines]
    head = "".join(f"<th>{inline(cell, link)}</th>" for cell in rows[0])
    width = len(rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{inline(cell, link)}</td>" for cell in (row + [""] * width)[:width]) + "</tr>"
        for row in rows[2:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(line: str) -> list[str]:
    stripped = line.strip().removeprefix("|")
    if stripped.endswith("|") and not stripped.endswith("\\|"):
        stripped = stripped[:-1]
    return re.split(r"(?<!\\)\|", stripped)


def _end_of_list(lines: list[str], index: int, indent: int) -> int:
    end = index + 1
    while end < len(lines):
        line = lines[end]
        deeper = len(line) - len(line.lstrip()) > indent
        if not line.strip():
            after = next((one for one in lines[end:] if one.strip()), "")
            continues = len(after) - len(after.lstrip()) > indent or (
                (found := _ITEM.match(after)) and len(found[1]) == indent
            )
            if not continues:
                break
        elif (
            not deeper
            and not ((item := _ITEM.match(line)) and len(item[1]) == indent)
            and (not lines[end - 1].strip() or _begins_block(line))  # else it continues the paragraph of the item
        ):
            break
        end += 1
    return end


def _list(lines: list[str], first: re.Match[str], link: Link) -> str:
    indent, width, items = len(first[1]), 0, list[list[str]]()
    for line in lines:
        item = _ITEM.match(line)
        if item and len(item[1]) == indent:
            items.append([item[3]])
            width = len(line) - len(item[3])
        else:
            items[-1].append(line[width:] if not line[:width].strip() else line.lstrip())
    tag = "ol" if first[2][0].isdigit() else "ul"
    made = []
    for item_lines in items:
        content = _blocks(item_lines, link)
        if content.count("<p>") == 1 and content.startswith("<p>"):
            content = content.replace("<p>", "", 1).replace("</p>", "", 1)
        made.append(f"<li>{content}</li>")
    return f"<{tag}>{''.join(made)}</{tag}>"


def inline(text: str, link: Link) -> str:
    """Returns the HTML of text inside a block."""
    made, end = list[str](), 0
    for found in _INLINE.finditer(text):
        made.append(escape(text[end : found.start()]))
        end = found.end()
        if found["escaped"]:
            made.append(escape(found["escaped"]))
        elif found["code"] is not None:
            code = found["code"].replace("\n", " ")
            made.append(f"<code>{escape(code[1:-1] if code[:1] == code[-1:] == ' ' and code.strip() else code)}</code>")
        elif found["alt"] is not None:
            made.append(f"<em>{escape(found['alt'])}</em>")
        elif found["target"]:
            address, label = link(found["target"], found["label"])
            shown = inline(label, link) if found["label"] else escape(label)
            made.append(f'<a href="{escape(address)}">{shown}</a>' if address else shown)
        elif found["auto"]:
            made.append(f'<a href="{escape(found["auto"])}">{escape(found["auto"])}</a>')
        elif found["bold"]:
            made.append(f"<strong>{inline(found['bold'], link)}</strong>")
        else:
            made.append(f"<em>{inline(found['italic'], link)}</em>")
    return "".join(made) + escape(text[end:])
