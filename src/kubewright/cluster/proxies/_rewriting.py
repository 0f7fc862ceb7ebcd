"""Links in responses: they lead through the proxy, so that a browser can follow them."""

from __future__ import annotations

import html
import posixpath
import re
from typing import Final
from urllib.parse import urlsplit

__all__ = ["Links"]

_ATTRIBUTES: Final = {
    "a": {"href"},
    "applet": {"codebase"},
    "area": {"href"},
    "audio": {"src"},
    "base": {"href"},
    "blockquote": {"cite"},
    "body": {"background"},
    "button": {"formaction"},
    "command": {"icon"},
    "del": {"cite"},
    "embed": {"src"},
    "form": {"action"},
    "frame": {"longdesc", "src"},
    "head": {"profile"},
    "html": {"manifest"},
    "iframe": {"longdesc", "src"},
    "img": {"longdesc", "src", "usemap"},
    "input": {"src", "usemap", "formaction"},
    "ins": {"cite"},
    "link": {"href"},
    "object": {"classid", "codebase", "data", "usemap"},
    "q": {"cite"},
    "script": {"src"},
    "source": {"src"},
    "video": {"poster", "src"},
}
# Possessive, so that no page takes more than linear time.
_TAG: Final = re.compile(r"""<([a-zA-Z][a-zA-Z0-9]*+)((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
_ATTRIBUTE: Final = re.compile(r"""(?<![a-zA-Z-])([a-zA-Z-]++)(\s*+=\s*+)(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""")
_START: Final = re.compile(r"<(?=[a-zA-Z])")


class Links:
    """Rewrites URLs that lead to the program itself: its host, or the host of the request.

    Args:
        prefix: the path of the proxy, before that of the program.
        hosts: host and port of the program, and the Host header of the request.
    """

    def __init__(self, prefix: str, hosts: tuple[str, str]) -> None:
        self._prefix = prefix
        self._target, self._requested = hosts

    def url(self, text: str) -> str:
        """Returns a URL through the proxy. Other hosts and relative paths stay as they are."""
        try:
            parts = urlsplit(text)
        except ValueError:
            return text
        if (parts.netloc and parts.netloc not in (self._target, self._requested)) or not parts.path.startswith("/"):
            return text
        if parts.netloc != self._requested:
            parts = parts._replace(scheme="", netloc="")
        if parts.path.startswith(self._prefix):
            return parts.geturl()
        joined = posixpath.normpath(f"{self._prefix}/{parts.path}").replace("//", "/")
        if parts.path.endswith("/"):
            joined += "/"
        return parts._replace(path=joined).geturl()

    def page(self, text: str) -> str:
        """Returns an HTML page with rewritten links. An unfinished tag and everything after it stay as they are."""
        made: list[str] = []
        position = 0
        while (start := _START.search(text, position)) is not None:
            tag = _TAG.match(text, start.start())
            if tag is None:
                break
            made.append(text[position : tag.start()])
            made.append(self._tag(tag))
            position = tag.end()
        made.append(text[position:])
        return "".join(made)

    def _tag(self, tag: re.Match[str]) -> str:
        names = _ATTRIBUTES.get(tag[1].lower())
        if names is None:
            return tag[0]

        def changed(found: re.Match[str]) -> str:
            if found[1].lower() not in names:
                return found[0]
            value = html.unescape(next(group for group in found.groups()[2:] if group is not None))
            rewritten = self.url(value)
            return found[0] if rewritten == value else f'{found[1]}="{html.escape(rewritten)}"'

        return f"<{tag[1]}{_ATTRIBUTE.sub(changed, tag[2])}>"
