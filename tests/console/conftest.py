"""A browser, consoles for it, and a way to disconnect the API server.

One Chromium serves all tests. Each `page` has its own context (cookies, size, theme) and fails its test if a script of
the page raises an error.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.testing import RealCluster
from tests.patience import PATIENCE

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
]
TOOL = Path(__file__).parents[2] / "tools" / "browser"
MILLISECONDS = PATIENCE * 1000
"""The patience of tests, in Playwright's unit."""

expect.set_options(timeout=MILLISECONDS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives tests in a browser more time: on a busy machine, each page takes seconds."""
    for item in items:
        if item.get_closest_marker("browser") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The Chromium of this machine."""
    return subprocess.run([TOOL], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="session")
def browser_address(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address at which Chromium listens for Playwright."""
    profile = tmp_path_factory.mktemp("chromium")
    command = [browser_path, *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        try:
            found = (re.search(r"DevTools listening on (ws://\S+)", line) for line in process.stderr)
            address = next(one[1] for one in found if one)
            threading.Thread(target=process.stderr.read, daemon=True).start()  # Chromium waits if its pipe is full
            yield address
        finally:
            os.killpg(process.pid, signal.SIGTERM)  # with its children: Debian starts it from a script


@pytest.fixture
async def browser(browser_address: str) -> AsyncIterator[Browser]:
    """The Chromium of this run."""
    async with async_playwright() as playwright:
        yield await playwright.chromium.connect_over_cdp(browser_address)


OpenPage = Callable[..., Awaitable[Page]]


@pytest.fixture
async def open_page(browser: Browser, console: Console, console_url: str) -> AsyncIterator[OpenPage]:
    """Opens pages in their own context, signed in as the local user unless `signed_in=False`.

    Other options are those of Playwright's `new_context`.
    """
    contexts, errors = [], []

    async def opened(*, signed_in: bool = True, **options: Any) -> Page:
        context = await browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        context.set_default_timeout(MILLISECONDS)
        if signed_in:
            await context.request.get(console_url + console.invitation(), max_redirects=0)
        made = await context.new_page()
        made.on("pageerror", lambda error: errors.append(str(error)))
        return made

    yield opened
    for context in contexts:
        await context.close()
    assert errors == [], "scripts of a page raised errors"


@pytest.fixture
async def page(open_page: OpenPage) -> Page:
    """A page that is signed in as the local user."""
    return await open_page()


@pytest.fixture
def console_settings() -> dict[str, Any]:  # Any, because they are arguments of Console
    """Further arguments of the console; override it."""
    return {}


@pytest.fixture
async def console(cluster: Cluster | RealCluster, console_settings: dict[str, Any]) -> AsyncIterator[Console]:
    """A console of the test's cluster."""
    async with Console(cluster.client(), **{"name": "tests", **console_settings}) as made:
        yield made


@pytest.fixture
async def console_url(console: Console) -> AsyncIterator[str]:
    """The URL of the console."""
    async with console.serving() as url:
        yield url


class Gate:
    """A proxy between a client and an API server that can be shut: it closes connections and refuses new ones."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = True
        self._flowing = asyncio.Event()
        self._flowing.set()

    async def __aenter__(self) -> Gate:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.thaw()
        self.shut()
        self._server.close()
        await self._server.wait_closed()

    def shut(self) -> None:
        """Closes all connections and refuses new ones. The port stays reserved."""
        self._open = False
        for writer in [*self._writers]:
            writer.transport.abort()

    def reopen(self) -> None:
        """Accepts connections again."""
        self._open = True

    def freeze(self) -> None:
        """Keeps all connections open but transfers nothing, as a stopped process does."""
        self._flowing.clear()

    def thaw(self) -> None:
        """Transfers again."""
        self._flowing.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._open:
            writer.transport.abort()
            return
        there, onwards = await asyncio.open_connection(*self._target)
        self._writers |= {writer, onwards}
        try:
            await asyncio.gather(_pump(reader, onwards, self._flowing), _pump(there, writer, self._flowing))
        finally:
            self._writers -= {writer, onwards}
            writer.transport.abort()
            onwards.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flowing: asyncio.Event) -> None:
    try:
        while data := await reader.read(65_536):
            await flowing.wait()
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
