"""Pages as programs ask for them: what their answers say, and what each leaves open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import aiohttp
import pytest

from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console._open_pages import pages_of


class Http:
    """Clients that have come in: those of whoever started the console, and of others by name."""

    def __init__(self, console: Console, url: str, stack: AsyncExitStack) -> None:
        self._console, self.url, self._stack = console, url, stack

    async def of(self, name: str) -> aiohttp.ClientSession:
        """Somebody with a session of his own."""
        _, secret = self._console.sessions.begin(self._console.viewer(name), self._console)
        jar = aiohttp.CookieJar(unsafe=True)
        jar.update_cookies({f"kubewright-{self.url.rpartition(':')[2]}": secret})
        made = aiohttp.ClientSession(self.url, cookie_jar=jar, headers={"Accept": "text/html"})
        return await self._stack.enter_async_context(made)


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


async def test_what_is_not_there_is_a_404_whoever_asks_and_however(http: Http) -> None:
    ann = await http.of("ann")
    for path, status, said in ANSWERS:
        async with ann.get(path) as answer:
            assert (path, answer.status, said in await answer.text()) == (path, status, True)
        async with ann.get(path, headers={"Accept": "application/json"}) as answer:
            assert (path, answer.status) == (path, status)
        async with ann.head(path) as answer:
            assert (path, answer.status, await answer.read()) == (path, status, b"")


async def test_a_head_leaves_no_page_behind(http: Http) -> None:
    ann = await http.of("ann")
    async with ann.head("/") as answer:
        assert answer.status == 200
    assert pages_of("ann") == []
    async with ann.get("/") as answer:
        assert answer.status == 200
    assert len(pages_of("ann")) == 1
