"""The tables of search results."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from kubewright.api import ObjectMeta, core
from kubewright.cluster import Cluster
from kubewright.crd import install
from tests.console.gadgets import Gadget, gadget

pytestmark = pytest.mark.browser


@pytest.mark.promise("Lists and layout of the console", "Tables of search results have equal columns for all kinds.")
async def test_columns_of_different_kinds_are_aligned(
    cluster: Cluster, cluster_namespace: str, console_url: str, page: Page
) -> None:
    async with cluster.client() as client:
        await install(client, Gadget)
        await client.create(gadget("pear-with-a-name-that-is-longer-than-that-of-the-other-object", cluster_namespace))
        await client.create(core.ConfigMap(metadata=ObjectMeta(name="pear", namespace=cluster_namespace)))
    await page.goto(f"{console_url}/search?q=pear")
    await expect(page.locator(".kw-found")).to_have_count(2)
    places = await page.locator(".kw-found").evaluate_all(
        """tables => tables.map(
            table => [...table.rows[0].cells].map(cell => Math.round(cell.getBoundingClientRect().x))
        )"""
    )
    assert places[0] == places[1]
