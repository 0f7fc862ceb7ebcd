"""Pages of a console, as a program opens them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from html import unescape
from typing import Any

import aiohttp

from tests.attacks.harness import COPIES, Victim, assault
from tests.patience import PATIENCE

SOCKETS = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
NEW = "/kinds/core/configmaps/new?namespace=default"
NEW_SLOW = "/kinds/attacks.example.com/slows/new?namespace=default"


class TooMany(Exception):
    """The console refused a page because its viewer has too many."""


class Page:
    """A page of the console, as NiceGUI's own program in the browser talks to it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, page_id: str, elements: dict[str, Any]) -> None:
        self._socket, self._id, self._elements = socket, page_id, elements

    async def hear(self) -> str:
        """The next message; answers pings. Raises `TooMany` if the console closes the socket."""
        async with asyncio.timeout(PATIENCE if COPIES == 1 else PATIENCE * 5):
            try:
                while (said := await self._socket.receive_str()) == "2":
                    await self._socket.send_str("3")
            except (TypeError, ConnectionError):  # not a message, but the end
                raise TooMany from None
        if said.startswith("44"):  # socket.io: refused, because the page was deleted for a newer one
            raise TooMany
        return said

    async def editor(self) -> tuple[str, dict[str, Any]]:
        """The editor of YAML: its number, and what it is. A page that is slow to build gets it later."""
        elements = self._elements
        while True:
            for number, element in elements.items():
                if isinstance(element, dict) and element.get("tag") == "nicegui-codemirror":
                    return number, element
            said = await self.hear()
            elements = json.loads(said[2:])[1] if said.startswith('42["update"') else {}

    async def type(self, number: str, element: dict[str, Any], text: str) -> None:
        """Replaces the text of the editor."""
        listener = next(one for one in element["events"] if one["type"] == "update:value")
        old = len(element["props"]["value"])
        change = {"sections": [old, len(text)], "inserted": [text.split("\n")]}
        message = {
            "id": int(number),
            "client_id": self._id,
            "listener_id": listener["listener_id"],
            "args": [json.dumps(change)],
        }
        await self._socket.send_str("42" + json.dumps(["event", message]))


@asynccontextmanager
async def signed_in(victim: Victim) -> AsyncIterator[aiohttp.ClientSession]:
    """The viewer who started the console. The link is for one sign-in; later sessions have its cookies."""
    link: str = victim.facts["console"]
    url = "/".join(link.split("/")[:3])
    jar = aiohttp.CookieJar(unsafe=True)
    jar.update_cookies(victim.facts.get("cookies", {}))
    timeout = aiohttp.ClientTimeout(total=PATIENCE if COPIES == 1 else PATIENCE * 5)
    async with aiohttp.ClientSession(url, cookie_jar=jar, headers={"Accept": "text/html"}, timeout=timeout) as session:
        if "cookies" not in victim.facts:
            async with session.get(link.removeprefix(url)) as answer:
                assert answer.status == 200
            victim.facts["cookies"] = {cookie.key: cookie.value for cookie in jar}
        yield session


@asynccontextmanager
async def opened(session: aiohttp.ClientSession, victim: Victim, path: str) -> AsyncIterator[Page]:
    """A page with its socket."""
    async with session.get(path) as answer:
        text = await answer.text()
        if answer.status == 429:
            raise TooMany
        assert answer.status == 200, text
    found = re.search(r"'client_id': '([0-9a-f-]+)'", text)
    drawn = re.search(r"parseElements\(String\.raw`([^`]*)`", text)
    assert found is not None
    assert drawn is not None
    about = f"&client_id={found[1]}&implicit_handshake=true&tab_id=tab&document_id=document&next_message_id=0"
    origin = "/".join(victim.facts["console"].split("/")[:3])
    try:
        connected = await session.ws_connect(SOCKETS + about, origin=origin, max_msg_size=0)
    except aiohttp.WSServerHandshakeError as error:
        if error.status == 403:  # the page was deleted for a newer one, or there are too many sockets
            raise TooMany from None
        raise
    async with connected as socket:
        page = Page(socket, found[1], json.loads(unescape(drawn[1])))
        await page.hear()
        await socket.send_str("40")
        yield page


async def attack_editor(session: aiohttp.ClientSession, victim: Victim, text: str, path: str = NEW) -> None:
    """Attacks with YAML in the editor of a new object. Some copies are refused, because one viewer sends them all."""
    typed = 0

    async def attack() -> None:
        nonlocal typed
        try:
            await type_into(session, victim, text, path)
            typed += 1
        except TooMany:
            assert COPIES > 1, "a viewer may have one page"

    await assault(victim, attack)
    assert typed, "no copy of the attack reached the editor"


async def type_into(session: aiohttp.ClientSession, victim: Victim, text: str, path: str) -> None:
    """Writes YAML into the editor of a new object, and waits until the console has read it or closed the socket.

    Raises `TooMany` if the viewer has too many pages.
    """
    async with opened(session, victim, path) as page:
        number, element = await page.editor()
        await page.type(number, element, text)
        with suppress(TooMany):  # the socket was closed
            while "unsaved" not in await page.hear():  # follows every edit that was read
                pass
