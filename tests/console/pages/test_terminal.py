"""The terminal of a pod that runs on a process node, in a browser, on both clusters."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

from kubewright.client import Client, load_config
from kubewright.cluster.processes import ApiServer, Images, ProcessNode
from kubewright.console import Console
from tests.cluster.processes.conftest import SHELL, is_ready, pod, wait
from tests.console.axe.run import violations
from tests.console.conftest import OpenPage
from tests.console.gadgets import AnyCluster
from tests.console.screenshots import shoot
from tests.console.signing_in import sign_in, token_of
from tests.patience import until

pytestmark = [pytest.mark.browser, pytest.mark.clusters]


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"rbac": True, "controllers": False}


@pytest.fixture
async def client(cluster: AnyCluster, cluster_namespace: str) -> AsyncIterator[Client]:
    """An administrator, and the pod `web` that runs as a process of this machine."""
    url = await cluster.serve()
    ca = load_config(kubeconfig=cluster.kubeconfig()).tls.ca_data
    name = f"node-{cluster_namespace}"
    async with (
        cluster.client(namespace=cluster_namespace) as made,
        ProcessNode(
            made,
            Images({"sh": SHELL}),
            name=name,
            namespace=cluster_namespace,
            api_server=lambda: ApiServer(url, ca),
            credentials=cluster.node_credentials(name),
        ),
    ):
        await made.create(pod("web", {"name": "app"}))
        await wait(made, "web", is_ready)
        yield made


@pytest.fixture
async def console(cluster: AnyCluster, client: Client) -> AsyncIterator[Console]:
    """Uses a kubeconfig, because viewers need a server to verify their tokens."""
    config = load_config(kubeconfig=cluster.kubeconfig())
    async with Console(Client(config), name="tests", only=["core/pods"]) as made:
        yield made


async def type_into(page: Page, text: str) -> None:
    await page.get_by_test_id("terminal").locator("textarea").focus()
    await page.keyboard.type(text)
    await page.keyboard.press("Enter")


@pytest.mark.promise(
    "Objects and operators in the console",
    "The terminal tab runs a shell in a container, in the size of the page, until the viewer leaves or signs out.",
)
async def test_runs_a_shell_until_sign_out(
    client: Client, cluster_namespace: str, console_url: str, open_page: OpenPage
) -> None:
    page = await open_page(reduced_motion="reduce")
    address = f"{console_url}/objects/core/pods/{cluster_namespace}/web"
    await page.goto(address)
    await page.get_by_role("tab", name="Terminal").click()
    await expect(page).to_have_url(f"{address}?tab=terminal")
    await expect(page.get_by_test_id("terminal-state")).to_have_text("Shell in web / app")
    rows = page.get_by_test_id("terminal").locator(".xterm-rows")
    await type_into(page, "echo $((40 + 2)) of $(hostname | wc -l); stty size; echo pid-$$-")
    await expect(rows).to_contain_text("42 of 1")
    await expect(rows).to_contain_text(re.compile(r"pid-\d+-"))  # the last output of the line
    before = re.search(r"(\d+) (\d+)pid-(\d+)-", (await rows.inner_text()).replace("\n", ""))
    assert before is not None
    assert int(before[2]) > 100  # the terminal fits the page of 1280 pixels
    await expect(page.get_by_test_id("terminal-state")).to_have_text("Shell in web / app")  # all input was processed
    assert await violations(page) == []
    await shoot(page, "terminal")

    # The size follows the window, also on a phone; the page is not wider than it.
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.emulate_media(color_scheme="dark")
    assert await violations(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360

    async def narrow() -> bool:
        await type_into(page, "clear; echo cols-$(stty size | cut -d' ' -f2)-")
        found = re.findall(r"cols-(\d+)-", (await rows.inner_text()).replace("\n", ""))
        return bool(found) and int(found[-1]) < 60

    await until(narrow)
    # The keyboard is not trapped, and Escape does not leave the terminal.
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Terminal. Shift+Tab leaves it.")).to_be_focused()
    await page.keyboard.press("Shift+Tab")
    await expect(page.get_by_label("Terminal. Shift+Tab leaves it.")).not_to_be_focused()

    process = f"/proc/{before[3]}"
    assert os.path.isdir(process)  # noqa: ASYNC240  # one stat of /proc
    await page.get_by_role("button", name="Signed in as").click()
    await page.get_by_text("Sign out").click()
    await until(lambda: not os.path.isdir(process), "the end of the shell")
    await expect(page.get_by_label("Bearer token")).to_be_visible()


async def test_explains_a_missing_permission(
    client: Client, cluster_namespace: str, console_url: str, open_page: OpenPage
) -> None:
    token = await token_of(client, cluster_namespace, {"": ["pods"]})
    page = await open_page(signed_in=False)
    await sign_in(page, f"{console_url}/objects/core/pods/{cluster_namespace}/web", token)
    await expect(page.get_by_test_id("conditions")).to_be_visible()
    await expect(page.get_by_test_id("owned")).not_to_contain_text("Loading")  # the permission was checked
    await expect(page.get_by_role("tab", name="Terminal")).to_have_count(0)
    await page.goto(f"{console_url}/objects/core/pods/{cluster_namespace}/web?tab=terminal")
    await expect(page.get_by_test_id("terminal-state")).to_have_text(
        "You may not open a terminal: you need the verb “create” on pods/exec."
    )
