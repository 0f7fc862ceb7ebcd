"""Projects from `init` to `undeploy` on clusters whose pods are processes of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from playwright.async_api import Browser, expect

from kubewright.api import ObjectMeta, Untyped, coordination, core, discovery
from kubewright.api.authorization import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec
from kubewright.client import ApiError, Client
from tests.cluster.clients.go_programs import BUILD_SECONDS
from tests.console.conftest import MILLISECONDS, browser, browser_address, browser_path
from tests.console.signing_in import sign_in, token_of
from tests.deployed.conftest import EXAMPLES, Local, available, processes_of
from tests.patience import until

__all__ = ["browser", "browser_address", "browser_path"]  # fixtures

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(BUILD_SECONDS + 300)]  # kubectl, and a Go program

WEBHOOK_PORT = 9443
LATE_REQUESTS = 20
"""The requests that a stopping pod must answer after the Service has left it, within its 5 s."""
Guestbook = Untyped.kind_of("webapp.my.domain/v1", "Guestbook", plural="guestbooks")
Password = Untyped.kind_of("secret.example.com/v1alpha1", "Password", plural="passwords")
Memcached = Untyped.kind_of("cache.example.com/v1alpha1", "Memcached", plural="memcacheds")


@pytest.fixture
async def console_url(local: Local, admin: Client) -> AsyncIterator[str]:
    """The address of the console, through a forwarded port."""
    await available(admin, "kubewright-console", "kubewright-console")
    async with local.forwarded("--namespace", "kubewright-console", "svc/kubewright-console", ":80") as port:
        yield f"http://localhost:{port}"


@pytest.mark.promise("Pods as processes", "`kubectl port-forward` opens the console of a cluster whose pods run.")
async def test_port_forward_opens_the_console(console_url: str) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{console_url}/", headers={"Accept": "text/html"}) as answer,
    ):
        assert answer.status == 200
        assert "Sign in" in await answer.text()


async def allowed(admin: Client, account: str) -> bool:
    """Returns whether an account may already list ConfigMaps."""
    wanted = ResourceAttributes(verb="list", resource="configmaps", namespace="default")
    user = f"system:serviceaccount:default:{account}"
    review = SubjectAccessReview(spec=SubjectAccessReviewSpec(user=user, resource_attributes=wanted))
    status = (await admin.create(review)).status
    return status is not None and bool(status.allowed)


@pytest.mark.browser
@pytest.mark.promise("Pods as processes", "The deployed console shows changes in a browser, through a forwarded port.")
async def test_console_shows_the_sample_of_a_deployed_operator(
    browser: Browser, local: Local, console_url: str, admin: Client
) -> None:
    await local.kubectl("apply", "--namespace", "default", "-f", "config/samples")
    token = await token_of(admin, "default", {"": ["configmaps"], "webapp.my.domain": ["guestbooks"]}, name="viewer")
    await until(lambda: allowed(admin, "viewer"), "the role of the account")
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(MILLISECONDS)
    errors: list[str] = []
    try:
        page = await context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        await sign_in(page, f"{console_url}/kinds/webapp.my.domain/guestbooks?namespace=default", token)
        await expect(page.locator('.ag-row[row-id="default/guestbook-sample"]').first).to_be_visible()
        # The page gets changes by a WebSocket: the second object, and what the operator makes for it.
        opened = Guestbook(metadata=ObjectMeta(name="made-while-open", namespace="default"))
        opened.content["spec"] = {"greeting": "hello"}
        await admin.create(opened)
        made = page.locator('.ag-row[row-id="default/made-while-open"]')
        await expect(made.first).to_be_visible()
        await page.goto(f"{console_url}/kinds/core/configmaps?namespace=default")
        await expect(made.first).to_be_visible()
        await admin.delete(Guestbook, "made-while-open", "default")
        await expect(made).to_have_count(0)
    finally:
        await context.close()
    assert errors == []


@pytest.mark.promise("Pods as processes", "A project is deployed and its operator runs, from `init` to `undeploy`.")
async def test_deployed_project_reconciles_its_sample(local: Local, admin: Client) -> None:
    [pod] = await available(admin, "guestbook-system", "guestbook")
    assert pod.spec.service_account_name == "guestbook"
    lease = await admin.get(coordination.Lease, "guestbook", "guestbook-system")
    assert pod.metadata.name in (lease.spec.holder_identity or "")
    await local.kubectl("apply", "--namespace", "default", "-f", "config/samples")

    async def made() -> core.ConfigMap | None:
        return await admin.find(core.ConfigMap, "guestbook-sample", "default")

    assert (await until(made, "the ConfigMap of the sample")).data == {"greeting": "welcome"}
    log = await local.kubectl("logs", "--namespace", "guestbook-system", "deploy/guestbook")
    assert "greeting is welcome" in log
    assert processes_of([pod])

    await local.kubewright("undeploy", "--yes")
    await until(lambda: not processes_of([pod]), "the end of the operator")


async def test_deployed_memcached_reconciles_its_sample(local: Local, admin: Client) -> None:
    folder = EXAMPLES / "memcached"
    [pod] = await available(admin, "memcached-operator-system", "memcached-operator")
    await local.kubectl("apply", "--namespace", "default", "-f", str(folder / "example-memcached.yaml"))

    async def reported() -> bool:
        found = await admin.get(Memcached, "example-memcached", "default")
        conditions = found.content.get("status", {}).get("conditions", [])
        return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)

    await until(reported, "the status of the sample")
    log = await local.kubectl("logs", "--namespace", "memcached-operator-system", "deploy/memcached-operator")
    assert "operator memcached-operator has started" in log
    assert logged(log, "Deployment example-memcached has the size ", "default/example-memcached")
    assert processes_of([pod])

    await local.kubewright("undeploy", "memcached.py", "--yes", folder=folder)  # its finalizer runs
    await until(lambda: not processes_of([pod]), "the end of the operator")


def logged(log: str, message: str, key: str) -> bool:
    """Returns whether exactly one line has the message, and names the object."""
    [line] = [line for line in log.splitlines() if message in line]
    return key in line


def password(length: int) -> Untyped:
    """Returns a Password with 10 digits and 10 symbols."""
    made = Password()
    made.metadata.generate_name, made.metadata.namespace = "made-", "default"
    made.content["spec"] = {"length": length}
    return made


class Creations:
    """Creates Passwords continuously, and counts those that were created.

    The embedded API server uses EndpointSlices if the Service of a webhook leads nowhere, which would hide that. Each
    creation therefore comes with a new connection to the Service.
    """

    def __init__(self, client: Client, service: core.Service) -> None:
        self.count = 0
        self._client = client
        self._address = f"https://{service.spec.cluster_ip}/"

    async def __aenter__(self) -> Creations:
        self._task = asyncio.create_task(self._run())
        return self

    async def _run(self) -> None:
        connector = aiohttp.TCPConnector(ssl=False, force_close=True)  # the API server verifies the certificate
        async with aiohttp.ClientSession(connector=connector) as session:
            while True:
                made = await self._client.create(password(20), dry_run=True)
                assert made.content["spec"]["caseSensitive"] is False, "set by the webhook"
                async with session.get(self._address) as response:
                    assert response.status == 404, "no webhook has this path"
                self.count += 1

    async def more(self, count: int) -> None:
        """Waits for so many more. Raises the failure of one."""
        wanted = self.count + count
        await until(lambda: self.count >= wanted or self._task.done(), "more objects")

    async def until_left(self, pod: core.Pod) -> None:
        """Waits until the Service does not lead to a stopping pod; the pod must still answer after that.

        Other nodes learn later that the pod stops, and send it requests. One of this machine learns it immediately.
        """
        address = f"https://{pod.status.pod_ip}:{WEBHOOK_PORT}/"
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False, force_close=True)) as session:
            answers = 0
            while answers < LATE_REQUESTS:
                async with session.get(address) as response:
                    assert response.status == 404, "no webhook has this path"
                answers += await self._has_left(pod)

    async def _has_left(self, pod: core.Pod) -> bool:
        slices = await self._client.list(discovery.EndpointSlice, pod.metadata.namespace)
        return not any(
            pod.status.pod_ip in endpoint.addresses and (endpoint.conditions or discovery.EndpointConditions()).ready
            for one in slices
            for endpoint in one.endpoints or ()
        )

    async def __aexit__(self, *_: object) -> None:
        if self._task.done():
            await self._task
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@pytest.mark.promise("Pods as processes", "Webhooks of a deployed operator answer while a new version is rolled out.")
async def test_webhooks_answer_during_an_upgrade(local: Local, admin: Client) -> None:
    folder = EXAMPLES / "password"
    image = "registry.example.com/password"
    [old] = await available(admin, "password-operator-system", "password-operator")
    with pytest.raises(ApiError, match="number of digits and symbols must be less than total length"):
        await admin.create(password(9))
    service = await admin.get(core.Service, "password-operator-webhook", "password-operator-system")
    async with Creations(admin, service) as creations:
        await creations.more(1)
        deploying = local.kubewright("deploy", "password.py", "--image", f"{image}:2.0.0", folder=folder)
        await asyncio.gather(deploying, creations.until_left(old))
        [new] = await available(admin, "password-operator-system", "password-operator")
        await until(lambda: not processes_of([old]), "the end of the old version")
        await creations.more(10)
    assert new.spec.containers[0].image == f"{image}:2.0.0"
    made = await admin.create(password(24))

    async def stored() -> core.Secret | None:
        return await admin.find(core.Secret, made.metadata.name, "default")

    assert len(((await until(stored, "the Secret")).data or {})["password"]) == 24
    log = await local.kubectl("logs", "--namespace", "password-operator-system", "deploy/password-operator")
    assert "operator password-operator has started" in log
    assert logged(log, f"Secret {made.metadata.name} has a new password", f"default/{made.metadata.name}")

    await local.kubewright("undeploy", "password.py", "--yes", folder=folder)
    await until(lambda: not processes_of([new]), "the end of the operator")


@pytest.mark.promise("Pods as processes", "No process of a pod survives its cluster, even if that is killed.")
async def test_no_process_survives_a_killed_cluster(local: Local, admin: Client) -> None:
    pods = [*await admin.list(core.Pod)]  # those of the tests above
    assert processes_of(pods)
    local.process.kill()
    await until(lambda: not processes_of(pods), "the end of all pods")
