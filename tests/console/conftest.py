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
async def page(browser_path: str) -> AsyncIterator[Page]:
    """A page of a browser of its own."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        try:
            yield await browser.new_page()
        finally:
            await browser.close()


@pytest.fixture
async def console_url(cluster: Cluster) -> AsyncIterator[str]:
    """A console of the test's cluster."""
    async with Console(cluster.client()) as console, console.serving() as url:
        yield url
