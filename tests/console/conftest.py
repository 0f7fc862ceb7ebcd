"""A browser, and consoles for it to look at."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright

from kubewright.cluster import Cluster
from kubewright.console import Console

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
TOOL = Path(__file__).parents[2] / "tools" / "browser"


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The Chromium of this machine."""
    return subprocess.run([TOOL], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
async def page(browser_path: str, console: Console, console_url: str) -> AsyncIterator[Page]:
    """A page of a browser of its own, which is signed in as whoever started the console."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        try:
            made = await browser.new_page()
            await made.context.request.get(console_url + console.invitation(), max_redirects=0)
            yield made
        finally:
            await browser.close()


@pytest.fixture
async def console(cluster: Cluster) -> AsyncIterator[Console]:
    """A console of the test's cluster."""
    async with Console(cluster.client()) as made:
        yield made


@pytest.fixture
async def console_url(console: Console) -> AsyncIterator[str]:
    """Where it is served."""
    async with console.serving() as url:
        yield url
