"""The first page."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright.cluster import Cluster
from kubewright.crd import install

pytestmark = pytest.mark.browser


class GadgetSpec(kw.Model):
    size: int


@kw.resource("shop.example.com/v1")
class Gadget(kw.Resource[GadgetSpec, None]):
    """A gadget."""


async def test_the_first_page_lists_the_kinds(cluster: Cluster, console_url: str, page: Page) -> None:
    client = cluster.client()
    await install(client, Gadget)
    await page.goto(console_url)
    await expect(page.get_by_role("link", name="Gadget")).to_be_visible()
