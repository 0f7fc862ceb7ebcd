"""A viewer with few permissions signs in with a token, in a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from playwright.async_api import expect

import kubewright as kw
from kubewright.api import ObjectMeta, rbac
from kubewright.client import Client, load_config
from kubewright.clock import VirtualClock
from kubewright.console import Console
from kubewright.crd import install
from kubewright.observe import OperatorReport
from tests.console.conftest import OpenPage
from tests.console.gadgets import PATH, AnyCluster, Gadget, gadget, set_phase
from tests.console.operators.test_operators import Scripted
from tests.console.signing_in import token_of

pytestmark = [pytest.mark.browser, pytest.mark.clusters]


UNSEEN = "lists.console.example.com/vaults"


class VaultSpec(kw.Model):
    size: int = 1


@kw.resource("lists.console.example.com/v1")
class Vault(kw.Resource[VaultSpec, None]):
    """A kind that the guest may not see."""


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"rbac": True, "controllers": False}


@pytest.fixture
async def console(cluster: AnyCluster) -> AsyncIterator[Console]:
    """Uses a kubeconfig, because viewers need a server to verify their tokens."""
    await cluster.serve()
    only = [PATH, UNSEEN, "core/secrets", "core/namespaces"]
    async with Console(Client(load_config(kubeconfig=cluster.kubeconfig())), name="tests", only=only) as made:
        yield made


async def token_of_a_guest(admin: Client, namespace: str) -> str:
    """The token of an account that may only read gadgets in one namespace."""
    return await token_of(admin, namespace, {"lists.console.example.com": ["gadgets"]})


@pytest.mark.promise(
    "Lists and layout of the console",
    "Lists and counts contain only visible objects, and name the missing verb.",
)
async def test_viewer_sees_permitted_objects_and_missing_verbs(
    cluster: AnyCluster, cluster_namespace: str, console: Console, console_url: str, open_page: OpenPage
) -> None:
    home, hidden = cluster_namespace, f"hidden-{cluster_namespace}"
    async with cluster.client() as admin:
        await install(admin, Gadget, Vault)
        token = await token_of_a_guest(admin, home)
        await set_phase(admin, await admin.create(gadget("mine", home)), "Ready")
        await set_phase(admin, await admin.create(gadget(hidden, "default")), "Failed")

        page = await open_page(signed_in=False)
        await page.goto(f"{console_url}/kinds/{PATH}")
        await page.get_by_label("Bearer token").fill(token)
        await page.get_by_role("button", name="Sign in").click()

        await expect(page).to_have_url(f"{console_url}/kinds/{PATH}")  # the page that was requested before
        await expect(page.get_by_role("gridcell", name="mine")).to_be_visible()
        await expect(page.get_by_text("1 object", exact=True)).to_be_visible()
        await expect(page.get_by_role("button", name="New Gadget")).to_have_count(0)
        await admin.create(gadget("second", home))
        await admin.create(gadget(f"{hidden}-too", "default"))
        await expect(page.get_by_text("2 objects", exact=True)).to_be_visible()
        await expect(page.get_by_text(hidden)).to_have_count(0)

        await page.goto(f"{console_url}/search?q={hidden}")
        await expect(page.get_by_text("No matches.")).to_be_visible()
        await page.goto(console_url)
        row = page.locator(f'[data-kind="{PATH}"]')
        await expect(row.get_by_text("1 ready")).to_be_visible()
        await expect(row.get_by_text("failing")).to_have_count(0)
        await expect(page.locator(f'[data-kind="{UNSEEN}"]')).to_contain_text("no permission to list")
        assert UNSEEN not in {cache.kind.path for cache in console.open_caches}  # permissions were checked first

        await page.goto(f"{console_url}/kinds/core/secrets?namespace={home}")
        problem = page.get_by_test_id("problem")
        await expect(problem).to_contain_text(f"You may not list secrets in namespace {home}")
        await expect(problem).to_contain_text(f"kubectl auth can-i list secrets --namespace {home}")

        await page.goto(f"{console_url}/kinds/{PATH}")
        await page.get_by_role("link", name="mine").click()  # keeps the scope: all namespaces
        for name in ("Edit", "Delete"):
            button = page.get_by_role("button", name=f"{name}. You may not {name.lower()} it: you need the verb")
            await expect(button).to_be_disabled()
        await expect(page.get_by_role("combobox", name="Namespace").first).to_have_value("All namespaces")

        await page.get_by_role("button", name="Signed in as").click()
        await page.get_by_text("Sign out").click()
        await expect(page.get_by_label("Bearer token")).to_be_visible()


@pytest.mark.promise(
    "Lists and layout of the console",
    "A list shows that a permission was revoked, and returns with the permission.",
)
@pytest.mark.clusters("embedded")
async def test_revoked_permission_is_shown_and_list_returns_with_it(
    cluster: AnyCluster, cluster_namespace: str, console: Console, console_url: str, open_page: OpenPage
) -> None:
    def clear_answers() -> None:  # as after 30 seconds
        for session in console.sessions:
            session.viewer.access.clear()

    async with cluster.client() as admin:
        await install(admin, Gadget)
        token = await token_of_a_guest(admin, cluster_namespace)
        await admin.create(gadget("mine", cluster_namespace))
        page = await open_page(signed_in=False, extra_http_headers={"Authorization": f"Bearer {token}"})
        await page.goto(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}")
        mine = page.get_by_role("gridcell", name="mine")
        await expect(mine).to_be_visible()

        bound = await admin.get(rbac.RoleBinding, "guest", cluster_namespace)
        await admin.delete(bound)
        clear_answers()
        problem = page.get_by_test_id("problem")
        await expect(problem).to_contain_text("You may no longer list gadgets.lists.console.example.com")
        await expect(problem).to_contain_text(f"system:serviceaccount:{cluster_namespace}:guest needs the verb “list”")
        await expect(mine).to_have_count(0)
        await expect(page.get_by_test_id("empty")).to_have_count(0)

        about = ObjectMeta(name="guest", namespace=cluster_namespace)
        await admin.create(rbac.RoleBinding(metadata=about, role_ref=bound.role_ref, subjects=bound.subjects))
        clear_answers()
        await expect(mine).to_be_visible()
        await expect(problem).to_have_count(0)


class GadgetOperator(Scripted):
    """Reports a controller of gadgets, and one of vaults."""

    async def report(self) -> OperatorReport:
        report = await super().report()
        [controller] = report.controllers
        made = [
            msgspec.structs.replace(controller, name=name, api_version="lists.console.example.com/v1", kind=kind)
            for name, kind in (("gadget-controller", "Gadget"), ("vault-controller", "Vault"))
        ]
        return msgspec.structs.replace(report, controllers=tuple(made))


@pytest.mark.promise(
    "Objects and operators in the console",
    "The operator page shows the controllers of kinds that the viewer may list, and nothing of other operators.",
)
@pytest.mark.clusters("embedded")
async def test_operator_page_shows_visible_kinds_only(
    cluster: AnyCluster, cluster_namespace: str, console: Console, console_url: str, open_page: OpenPage
) -> None:
    async with cluster.client() as admin:
        await install(admin, Gadget, Vault)
        token = await token_of_a_guest(admin, cluster_namespace)
        await console.operators.add(GadgetOperator(VirtualClock())).query()
        page = await open_page(signed_in=False, extra_http_headers={"Authorization": f"Bearer {token}"})
        await page.goto(f"{console_url}/operator")
        await expect(page.get_by_test_id("controllers")).to_contain_text("gadget-controller")
        await expect(page.get_by_role("main")).not_to_contain_text("vault-controller")

        await admin.delete(rbac.RoleBinding, "guest", cluster_namespace)
        for session in console.sessions:
            session.viewer.access.clear()
        await page.reload()
        await expect(page.get_by_test_id("problem")).to_contain_text("You may not see this operator")
        await expect(page.get_by_role("main")).not_to_contain_text("gadget-controller")
