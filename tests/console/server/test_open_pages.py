"""Pages as programs ask for them: what their answers say, and what each leaves open."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import aiohttp
import pytest

from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console.server import open_pages_of
from tests.patience import PATIENCE

NONSENSE: list[object] = [None, [], {}, {"client_id": []}]
SOCKETS = "/_nicegui_ws/socket.io/?EIO=4"


class Socket:
    """A web socket of a page, as NiceGUI's own program in the browser opens it: socket.io on top of engine.io."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def connect(self) -> None:
        """Begin: the first packet has the name of the socket, the second is the answer to our own."""
        self.sid: str = json.loads((await self._socket.receive_str())[1:])["sid"]
        await self._socket.send_str("40")
        async with asyncio.timeout(PATIENCE):
            while not (await self._socket.receive_str()).startswith("40"):
                pass

    async def send(self, event: str, message: object) -> None:
        """Say something; nothing is answered."""
        await self._socket.send_str("42" + json.dumps([event, message]))

    async def ask(self, event: str, message: object) -> object:
        """Say something, and wait for the answer: all that was said before has been heard then."""
        await self._socket.send_str("427" + json.dumps([event, message]))
        async with asyncio.timeout(PATIENCE):
            while not (packet := await self._socket.receive_str()).startswith("437"):
                pass
        return json.loads(packet[3:])

    async def close(self) -> None:
        """The browser is gone."""
        await self._socket.close()


class Http:
    """Clients that have come in: those of whoever started the console, and of others by name."""

    def __init__(self, console: Console, url: str, stack: AsyncExitStack) -> None:
        self._console, self.url, self._stack = console, url, stack

    async def of(self, name: str) -> aiohttp.ClientSession:
        """Somebody with a session of his own."""
        _, secret = self._console.sessions.begin(self._console.viewer(name))
        jar = aiohttp.CookieJar(unsafe=True)
        jar.update_cookies({f"kubewright-{self.url.rpartition(':')[2]}": secret})
        made = aiohttp.ClientSession(self.url, cookie_jar=jar, headers={"Accept": "text/html"})
        return await self._stack.enter_async_context(made)

    async def opened(self, somebody: aiohttp.ClientSession) -> Socket:
        """A page with its socket, as a browser has it."""
        async with somebody.get("/") as answer:
            found = re.search(r"'client_id': '([0-9a-f-]+)'", await answer.text())
        assert found is not None
        about = f"&client_id={found[1]}&implicit_handshake=true&tab_id=tab&document_id=document&next_message_id=0"
        return await self.socket(somebody, about)

    async def socket(self, somebody: aiohttp.ClientSession, about: str = "") -> Socket:
        """A socket that is about no page yet, unless it is said."""
        opening = somebody.ws_connect(f"{SOCKETS}&transport=websocket{about}", origin=self.url)
        made = Socket(await self._stack.enter_async_context(opening))
        await made.connect()
        return made


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what happens in this event loop."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0.01)


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
    ("/objects/core/configmaps/default/gone", 200, "gone"),  # a live page: the object may come
    ("/no/such/page", 404, "The console has nothing at /no/such/page."),
    ("/kinds/core/configmps", 404, "This cluster has no kind core/configmps"),
    ("/kinds/nothing", 404, "This cluster has no kind nothing"),
    ("/kinds/core/configmps/new", 404, "This cluster has no kind core/configmps"),
    ("/objects/core/configmps/default/one", 404, "This cluster has no kind core/configmps"),
]


@pytest.mark.promise(
    "Lists and the look of the console",
    "What is not there is a 404, also to programs and to HEAD, which leaves no page behind.",
)
async def test_what_is_not_there_is_a_404_whoever_asks_and_however(http: Http) -> None:
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
        assert open_pages_of("ann") == pages  # files are no pages


@pytest.mark.promise(
    "Lists and the look of the console",
    "What is not there is a 404, also to programs and to HEAD, which leaves no page behind.",
)
async def test_a_head_leaves_no_page_behind(http: Http) -> None:
    ann = await http.of("ann")
    async with ann.head("/") as answer:
        assert answer.status == 200
    assert open_pages_of("ann") == []
    async with ann.get("/") as answer:
        assert answer.status == 200
    assert len(open_pages_of("ann")) == 1


@pytest.fixture
def few(console: Console) -> int:
    """So many pages are allowed."""
    console.pages_per_viewer = 2
    return 2


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A viewer has so many pages open and no more; those that nobody came for are in nobody's way.",
)
async def test_a_viewer_may_open_so_many_pages_and_no_more(
    http: Http, few: int, caplog: pytest.LogCaptureFixture
) -> None:
    ann, ben = await http.of("ann"), await http.of("ben")
    pages = [await http.opened(ann) for _ in range(few)]
    async with ann.get("/") as answer:
        text = await answer.text()
        assert (answer.status, "You have 2 pages of this console open" in text) == (429, True)
        assert "<script" not in text
    async with ann.get("/", headers={"Accept": "*/*"}) as answer:
        assert (await answer.text()).startswith("Too many pages are open. You have 2 pages")
    assert "ann has 2 pages of the console open, and is refused another one" in caplog.text
    async with ann.get("/sign-in") as answer:  # is no page of hers
        assert answer.status == 200
    async with ben.get("/") as answer:
        assert answer.status == 200
    await pages[0].close()
    await until(lambda: sum(page.has_socket_connection for page in open_pages_of("ann")) < few)
    async with ann.get("/") as answer:
        assert answer.status == 200
    assert len(open_pages_of("ann")) == few


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A viewer has so many pages open and no more; those that nobody came for are in nobody's way.",
)
async def test_pages_that_nobody_came_for_are_in_nobodys_way(http: Http, few: int) -> None:
    ann = await http.of("ann")
    for _ in range(2 * few):
        async with ann.get("/") as answer:
            assert answer.status == 200
    assert len(open_pages_of("ann")) == few


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A web socket speaks for its own page alone, whichever ids somebody knows.",
)
async def test_a_socket_speaks_for_its_own_page_alone(http: Http) -> None:
    ann, ben = await http.of("ann"), await http.of("ben")
    hers = await http.opened(ann)
    sockets_of_his = [await http.opened(ben), await http.socket(ben)]  # of a page of his own, and of none yet
    (page,) = open_pages_of("ann")
    heard: list[object] = []
    page.content.on("told", lambda event: heard.append(event.args))
    (listener,) = page.content._event_listeners
    about = {"client_id": page.id, "id": page.content.id, "listener_id": listener}
    greeting = {"client_id": page.id, "tab_id": "tab", "document_id": "document", "next_message_id": 0}

    for his in sockets_of_his:
        await his.send("event", about | {"args": ['"by somebody else"']})
        assert await his.ask("handshake", greeting) == [False]  # nor does he come in by saying that it is his
        await his.send("event", about | {"args": ['"by somebody else"']})
        for nonsense in NONSENSE:
            await his.send("event", nonsense)
        assert await his.ask("handshake", None) == [False]  # so all of it was heard
    await hers.send("event", about | {"args": ['"by herself"']})
    await until(lambda: bool(heard))
    assert heard == ["by herself"]

    # And her socket is hers, whoever knows what it is called.
    async with ben.post(
        f"{SOCKETS}&transport=polling&sid={hers.sid}", data="2", headers={"Origin": http.url}
    ) as answer:
        assert (answer.status, await answer.text()) == (403, "This is the page of somebody else.\n")
