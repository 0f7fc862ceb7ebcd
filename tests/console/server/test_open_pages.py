"""Pages as HTTP clients request them: responses, and the pages that stay open."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import aiohttp
import pytest
from nicegui import app

from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console.server import open_pages_of
from tests.patience import PATIENCE, until

NONSENSE: list[object] = [None, [], {}, {"client_id": []}]
SOCKETS = "/_nicegui_ws/socket.io/?EIO=4"


class Socket:
    """A WebSocket of a page, as NiceGUI opens it in the browser: socket.io over engine.io."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def connect(self) -> None:
        """Connects: the first packet contains the socket's ID, the second answers ours."""
        self.sid: str = json.loads((await self._socket.receive_str())[1:])["sid"]
        await self._socket.send_str("40")
        async with asyncio.timeout(PATIENCE):
            while not (await self._socket.receive_str()).startswith("40"):
                pass

    async def send(self, event: str, message: object) -> None:
        """Sends a message without waiting."""
        await self._socket.send_str("42" + json.dumps([event, message]))

    async def ask(self, event: str, message: object) -> object:
        """Sends a message and waits for the answer, so that all earlier messages have been processed."""
        await self._socket.send_str("427" + json.dumps([event, message]))
        async with asyncio.timeout(PATIENCE):
            while not (packet := await self._socket.receive_str()).startswith("437"):
                pass
        return json.loads(packet[3:])

    async def close(self) -> None:
        """Closes the socket."""
        await self._socket.close()


class Http:
    """Signed-in clients: of the local user, and of others by name."""

    def __init__(self, console: Console, url: str, stack: AsyncExitStack) -> None:
        self._console, self.url, self._stack = console, url, stack

    async def of(self, name: str) -> aiohttp.ClientSession:
        """Returns a client with its own session."""
        _, secret = self._console.sessions.begin(self._console.viewer(name))
        jar = aiohttp.CookieJar(unsafe=True)
        jar.update_cookies({f"kubewright-{self.url.rpartition(':')[2]}": secret})
        made = aiohttp.ClientSession(self.url, cookie_jar=jar, headers={"Accept": "text/html"})
        return await self._stack.enter_async_context(made)

    async def opened(self, client: aiohttp.ClientSession) -> Socket:
        """Opens a page with its socket, as a browser does."""
        async with client.get("/") as answer:
            found = re.search(r"'client_id': '([0-9a-f-]+)'", await answer.text())
        assert found is not None
        about = f"&client_id={found[1]}&implicit_handshake=true&tab_id=tab&document_id=document&next_message_id=0"
        return await self.socket(client, about)

    async def socket(self, client: aiohttp.ClientSession, about: str = "") -> Socket:
        """Opens a socket, without a page by default."""
        opening = client.ws_connect(f"{SOCKETS}&transport=websocket{about}", origin=self.url)
        made = Socket(await self._stack.enter_async_context(opening))
        await made.connect()
        return made


@pytest.fixture
async def console(cluster: Cluster) -> AsyncIterator[Console]:
    async with Console(cluster.client(), name="tests") as made:
        yield made


@pytest.fixture
async def http(console: Console, console_url: str) -> AsyncIterator[Http]:
    async with AsyncExitStack() as stack:
        yield Http(console, console_url, stack)


ANSWERS = [
    ("/", 200, "Custom resources of this cluster"),
    ("/kinds/core/configmaps", 200, "ConfigMap"),
    ("/objects/core/configmaps/default/gone", 200, "gone"),  # a live page: the object may be created
    ("/no/such/page", 404, "The console has no page at /no/such/page."),
    ("/kinds/core/configmps", 404, "This cluster has no kind core/configmps"),
    ("/kinds/nothing", 404, "This cluster has no kind nothing"),
    ("/kinds/core/configmps/new", 404, "This cluster has no kind core/configmps"),
    ("/objects/core/configmps/default/one", 404, "This cluster has no kind core/configmps"),
]


@pytest.mark.promise(
    "Lists and layout of the console",
    "A missing page is a 404 for every client and for HEAD, which leaves no open page.",
)
async def test_missing_pages_are_404_for_every_client(http: Http) -> None:
    ann = await http.of("ann")
    for path, status, said in ANSWERS:
        async with ann.get(path) as answer:
            assert (path, answer.status, said in await answer.text()) == (path, status, True)
        async with ann.get(path, headers={"Accept": "application/json"}) as answer:
            assert (path, answer.status) == (path, status)
        async with ann.head(path) as answer:
            assert (path, answer.status, await answer.read()) == (path, status, b"")
    for path, status in (("/favicon.ico", 200), ("/_nicegui/none", 404), ("/_nicegui_ws", 404)):
        pages = open_pages_of("ann")
        async with ann.get(path) as answer:
            assert (path, answer.status) == (path, status)
        assert open_pages_of("ann") == pages  # files are not pages


@pytest.mark.promise(
    "Lists and layout of the console",
    "A missing page is a 404 for every client and for HEAD, which leaves no open page.",
)
async def test_head_leaves_no_open_page(http: Http) -> None:
    ann = await http.of("ann")
    async with ann.head("/") as answer:
        assert answer.status == 200
    assert open_pages_of("ann") == []
    async with ann.get("/") as answer:
        assert answer.status == 200
    assert len(open_pages_of("ann")) == 1


@pytest.fixture
def few(console: Console) -> int:
    """The number of allowed pages."""
    console.pages_per_viewer = 2
    return 2


@pytest.mark.promise(
    "Access to the console and its cost",
    "Open pages are limited per viewer; pages without a browser do not count.",
)
async def test_limits_open_pages_per_viewer(http: Http, few: int, caplog: pytest.LogCaptureFixture) -> None:
    ann, ben = await http.of("ann"), await http.of("ben")
    pages = [await http.opened(ann) for _ in range(few)]
    async with ann.get("/") as answer:
        text = await answer.text()
        assert (answer.status, "You have 2 pages of this console open" in text) == (429, True)
        assert "<script" not in text
    async with ann.get("/", headers={"Accept": "*/*"}) as answer:
        assert (await answer.text()).startswith("Too many open pages. You have 2 pages")
    assert "refused a page of the console: ann already has 2 open" in caplog.text
    async with ann.get("/sign-in") as answer:  # this page belongs to no viewer
        assert answer.status == 200
    async with ben.get("/") as answer:
        assert answer.status == 200
    await pages[0].close()
    await until(lambda: sum(page.has_socket_connection for page in open_pages_of("ann")) < few)
    async with ann.get("/") as answer:
        assert answer.status == 200
    assert len(open_pages_of("ann")) == few


@pytest.mark.promise(
    "Access to the console and its cost",
    "Open pages are limited per viewer; pages without a browser do not count.",
)
async def test_pages_without_browser_do_not_count_against_the_limit(http: Http, few: int) -> None:
    ann = await http.of("ann")
    for _ in range(2 * few):
        async with ann.get("/") as answer:
            assert answer.status == 200
    assert len(open_pages_of("ann")) == few


async def scheduled_deletions() -> list[str]:
    """Returns the pages whose deletion NiceGUI has scheduled. Canceled tasks end first."""
    for _ in range(50):
        await asyncio.sleep(0)
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("delete content ")]


@pytest.fixture
async def disconnected(http: Http, monkeypatch: pytest.MonkeyPatch) -> aiohttp.ClientSession:
    """A client of ann whose page has lost its browser, so that NiceGUI has scheduled its deletion."""
    monkeypatch.setattr(app.config, "reconnect_timeout", 10 * PATIENCE)
    ann = await http.of("ann")
    socket = await http.opened(ann)
    await socket.close()
    await until(lambda: not any(page.has_socket_connection for page in open_pages_of("ann")))
    assert len(await scheduled_deletions()) == 1
    return ann


async def test_disconnected_page_is_deleted_once_at_the_limit(
    disconnected: aiohttp.ClientSession, console: Console
) -> None:
    console.pages_per_viewer = 1
    async with disconnected.get("/") as answer:
        assert answer.status == 200
    assert await scheduled_deletions() == []


async def test_disconnected_page_is_deleted_once_after_sign_out(
    disconnected: aiohttp.ClientSession, http: Http
) -> None:
    async with disconnected.post("/sign-out", headers={"Origin": http.url}, allow_redirects=False) as answer:
        assert answer.status == 303
    await until(lambda: not open_pages_of("ann"))
    assert await scheduled_deletions() == []


@pytest.mark.promise(
    "Access to the console and its cost",
    "A WebSocket sends only for its own page, even with another page's ID.",
)
async def test_socket_sends_only_for_its_own_page(http: Http) -> None:
    ann, ben = await http.of("ann"), await http.of("ben")
    hers = await http.opened(ann)
    sockets_of_his = [await http.opened(ben), await http.socket(ben)]  # for the viewer's own page, and without a page
    (page,) = open_pages_of("ann")
    heard: list[object] = []
    page.content.on("said", lambda event: heard.append(event.args))
    (listener,) = page.content._event_listeners
    about = {"client_id": page.id, "id": page.content.id, "listener_id": listener}
    greeting = {"client_id": page.id, "tab_id": "tab", "document_id": "document", "next_message_id": 0}

    for his in sockets_of_his:
        await his.send("event", about | {"args": ['"by another viewer"']})
        assert await his.ask("handshake", greeting) == [False]  # the page's ID is not sufficient
        await his.send("event", about | {"args": ['"by another viewer"']})
        for nonsense in NONSENSE:
            await his.send("event", nonsense)
        assert await his.ask("handshake", None) == [False]  # by now all messages have been processed
    await hers.send("event", about | {"args": ['"by herself"']})
    await until(lambda: bool(heard))
    assert heard == ["by herself"]

    # A socket belongs to its viewer, even if another viewer knows its ID.
    async with ben.post(
        f"{SOCKETS}&transport=polling&sid={hers.sid}", data="2", headers={"Origin": http.url}
    ) as answer:
        assert (answer.status, await answer.text()) == (403, "This page belongs to another viewer.\n")
