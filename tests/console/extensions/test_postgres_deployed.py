"""The Postgres example as its tutorial says: kubectl installs it, and its web page creates a cluster that answers SQL.

Everything is a process of this machine: the operator, the web page, Patroni and PostgreSQL.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from deployment import CONFIG
from patroni_pods import Pods
from playwright.async_api import Browser, Page, expect
from postgres_server import installed_versions, marks

from kubewright.api import apps
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.cluster.processes import Images
from kubewright.cluster.workloads import Workloads
from kubewright.testing import setup_binaries
from tests.console.conftest import MILLISECONDS
from tests.patience import PATIENCE, until

pytestmark = [
    *marks,
    pytest.mark.browser,
    pytest.mark.control_plane,  # kubectl
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces and the user postgres need root"),
]

NAMESPACE = "postgres-operator-system"
STEPS = ("Manifest accepted", "StatefulSet created", "First pod ready", "Primary elected", "Database reachable")


class Kubectl:
    """Runs kubectl as the administrator of a cluster."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._command = [str(setup_binaries() / "kubectl"), f"--kubeconfig={cluster.kubeconfig()}"]
        self._command += [f"--cache-dir={folder}"]

    async def __call__(self, *arguments: str) -> str:
        """Runs a command that must succeed, and returns its output."""
        process = await self._start(*arguments)
        async with asyncio.timeout(PATIENCE):
            output, _ = await process.communicate()
        assert process.returncode == 0, output.decode()
        return output.decode()

    async def _start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )

    @asynccontextmanager
    async def forwarding(self, *arguments: str) -> AsyncIterator[int]:
        """Runs `port-forward`, and yields its local port."""
        process = await self._start("port-forward", *arguments)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE):
                line = (await process.stdout.readline()).decode()
            assert " -> " in line, line
            yield int(line.split(" -> ")[0].rpartition(":")[2])
        finally:
            process.terminate()
            await process.communicate()


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """A cluster whose pods are processes, with the images of the example."""
    images = Images.read(CONFIG.with_name("images.toml"))
    async with Cluster(workloads=Workloads(processes=images), rbac=True) as made:
        await made.serve()
        yield made


@pytest.fixture
async def admin(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client(namespace="default") as client:
        yield client


@pytest.fixture
async def kubectl(cluster: Cluster, admin: Client, tmp_path: Path) -> Kubectl:
    """Installs the example in the tutorial's order, and waits until the operator and the web page are available."""
    made = Kubectl(cluster, tmp_path)
    for folder in ("crd", "configuration", "default", "ui"):
        await made("apply", "-k", str(CONFIG / folder))
    for name in ("postgres-operator", "postgres-operator-ui"):

        async def available(name: str = name) -> bool:
            found = await admin.get(apps.Deployment, name, NAMESPACE)
            return found.status.available_replicas == 1

        try:
            await until(available, f"the pod of {name}")
        except AssertionError as error:  # the log and the events contain the reason
            logs = await made("logs", "-n", NAMESPACE, f"deploy/{name}", "--tail=30")
            raise AssertionError(f"{error}\n{logs}\n{await made('get', 'events', '-n', NAMESPACE)}") from error
    return made


@pytest.fixture
async def url(kubectl: Kubectl) -> AsyncIterator[str]:
    """The address of the web page, through a forwarded port."""
    async with kubectl.forwarding("-n", NAMESPACE, "svc/postgres-operator-ui", ":80") as port:
        yield f"http://localhost:{port}"


@pytest.fixture
async def page(browser: Browser, url: str, cluster: Cluster) -> AsyncIterator[Page]:
    """A page of the administrator, who signed in with a token."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(MILLISECONDS)
    made = await context.new_page()
    await made.goto(f"{url}/extensions/postgres/clusters")
    await made.get_by_label("Bearer token").fill(cluster.token)
    await made.get_by_role("button", name="Sign in").click()
    yield made
    await context.close()


@pytest.mark.promise("Postgres example", "The web page's form creates a cluster that answers SQL.")
async def test_form_creates_a_cluster_that_answers_sql(page: Page, url: str, admin: Client) -> None:
    await page.get_by_role("link", name="New cluster").click()
    await page.get_by_label("metadata.name", exact=True).fill("acid-shop")
    await page.get_by_label("metadata.namespace", exact=True).click()
    await page.get_by_role("option", name="default", exact=True).click()
    await page.get_by_label("Team (spec.teamId)", exact=True).fill("acid")
    await page.get_by_label("Number of instances (spec.numberOfInstances)", exact=True).fill("1")
    await page.get_by_label("PostgreSQL version (spec.postgresql.version)", exact=True).click()
    await page.get_by_role("option", name=installed_versions()[-1], exact=True).click()
    await page.locator('[data-path="spec.users"] [role="button"]').first.click()
    await page.get_by_role("button", name="Add to spec.users").click()
    await page.get_by_label("Key of spec.users", exact=False).fill("seller")
    await page.locator('[data-path="spec.databases"] [role="button"]').first.click()
    await page.get_by_role("button", name="Add to spec.databases").click()
    await page.get_by_label("Key of spec.databases", exact=False).fill("shop")
    await page.keyboard.press("Tab")  # to its value
    await expect(page.locator(".cm-content")).to_contain_text('shop: ""')
    await page.keyboard.type("seller")
    await expect(page.locator(".cm-content")).to_contain_text("shop: seller")
    await page.get_by_role("button", name="Review and create").click()
    await page.get_by_role("button", name="Create", exact=True).click()
    await page.wait_for_url("**/objects/acid.zalan.do/postgresqls/*/acid-shop")

    await page.goto(f"{url}/extensions/postgres/status/default/acid-shop")
    for step in STEPS:
        await expect(page.get_by_test_id("steps")).to_contain_text(f"{step}: done")
    async with Pods(admin, "acid-shop").login(user="seller", database="shop") as connection:
        await connection.execute("CREATE TABLE orders (number int)")
        await connection.execute("INSERT INTO orders VALUES (42)")
        assert await (await connection.execute("SELECT number FROM orders")).fetchall() == [(42,)]

    # The page verifies the operator by its published certificate, and the operator reviews the page's token.
    await page.goto(f"{url}/extensions/postgres/queues")
    await expect(page.get_by_text("Worker 7")).to_be_visible()
    await expect(page.get_by_text("default/acid-shop")).to_be_visible()  # until the next resync
