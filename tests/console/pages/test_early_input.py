"""Input before the page's socket is connected."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, WebSocketRoute, expect

pytestmark = pytest.mark.browser

# Holds short timers until the test releases them. The newest one then runs first: their order is not guaranteed.
_TIMERS = """(() => {
  const waiting = [], later = window.setTimeout;
  let released = false;
  window.setTimeout = (call, delay, ...more) =>
    released || delay > 50 ? later(call, delay, ...more) : waiting.push(() => call(...more));
  window.releaseTimers = () => {
    released = true;
    for (const call of waiting.reverse()) call();
  };
})()"""


class HeldSockets:
    """The sockets of a page. Messages of the server are held until `release`."""

    def __init__(self) -> None:
        self._held: list[tuple[WebSocketRoute, str | bytes]] | None = []

    def connected(self, socket: WebSocketRoute) -> None:
        """Connects a socket of the page to the server."""
        server = socket.connect_to_server()
        server.on_message(lambda message: self._received(socket, message))

    def release(self) -> None:
        """Delivers all messages."""
        held, self._held = self._held or [], None
        for socket, message in held:
            socket.send(message)

    def _received(self, socket: WebSocketRoute, message: str | bytes) -> None:
        if self._held is None or str(message).startswith("0"):  # without the open packet, the browser closes the socket
            socket.send(message)
        else:
            self._held.append((socket, message))


@pytest.mark.promise(
    "Lists and layout of the console",
    "Keys and clicks before a page is connected are processed in their order, as soon as it is.",
)
async def test_input_before_the_connection_is_processed_in_order(console_url: str, page: Page) -> None:
    sockets = HeldSockets()
    await page.route_web_socket(re.compile("/_nicegui_ws/"), sockets.connected)
    await page.add_init_script(_TIMERS)
    await page.goto(console_url)
    field = page.get_by_label("Search kinds and objects")
    theme = page.get_by_role("button", name="Theme: auto")
    await theme.click()
    await field.fill("needle")
    await field.press("Enter")
    await expect(theme).to_be_visible()  # nothing has reached the server
    sockets.release()
    await page.wait_for_function("() => window.socket.connected")
    await page.evaluate("window.releaseTimers()")
    await expect(page).to_have_url(f"{console_url}/search?q=needle")
    await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()


# Calls a function between two pages: the old page is gone, and the new one is not mounted yet.
_BETWEEN_PAGES = """(call) => {
  const push = history.pushState.bind(history);
  history.pushState = (...state) => {
    history.pushState = push;
    push(...state);
    call();
  };
}"""


async def press_between_pages(page: Page, keys: str) -> None:
    """Presses keys as soon as the old page is gone, the next time that a page is opened."""
    await page.evaluate(
        f"""keys => ({_BETWEEN_PAGES})(() => {{
            for (const key of keys)
                document.body.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true, cancelable: true }}));
        }})""",
        keys,
    )


@pytest.mark.promise(
    "Lists and layout of the console",
    "Keys and the browser's buttons between two pages take effect as soon as the next page is shown.",
)
async def test_keys_between_two_pages_are_not_lost(console_url: str, page: Page) -> None:
    await page.goto(console_url)
    await press_between_pages(page, "g")
    await page.get_by_role("link", name="Problems").click()
    await expect(page.get_by_role("heading", name="Problems")).to_be_visible()
    await page.keyboard.press("o")
    await expect(page).to_have_url(f"{console_url}/operator")
    await expect(page.get_by_role("heading", name="No operator is connected")).to_be_visible()


async def test_text_between_two_pages_is_entered_into_the_search_field(console_url: str, page: Page) -> None:
    await page.goto(console_url)
    await press_between_pages(page, "/gp")
    await page.get_by_role("link", name="Problems").click()
    await expect(page.get_by_label("Search kinds and objects")).to_have_value("gp")
    await expect(page).to_have_url(f"{console_url}/problems")


async def test_back_between_two_pages_shows_the_former_page(console_url: str, page: Page) -> None:
    await page.goto(f"{console_url}/problems")
    await page.evaluate(
        f"""({_BETWEEN_PAGES})(() => {{
            history.replaceState({{}}, "", "/problems");
            window.dispatchEvent(new PopStateEvent("popstate"));
        }})"""
    )
    await page.get_by_role("link", name="Operator").click()
    await expect(page).to_have_url(f"{console_url}/problems")
    await expect(page.get_by_role("heading", name="Problems")).to_be_visible()
