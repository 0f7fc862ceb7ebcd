"""Serving: TLS, contexts, servers for viewers, expiry of sessions, and shared watches."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import pytest
import yaml
from playwright.async_api import Browser, Page, expect
from yarl import URL

from kubewright.api import ObjectMeta, core
from kubewright.certificates import CertificateAuthority
from kubewright.client import Client, ConfigError, Request, load_config
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console import Console, SignInError
from tests.console.conftest import MILLISECONDS

OpenPage = Callable[..., Awaitable[Page]]
HTML = {"Accept": "text/html"}


class Watches:
    """Counts the console's lists and watches of a resource."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def hook(self, request: Request) -> None:
        self.seen.append((request.verb, request.resource))

    def of(self, resource: str) -> int:
        return sum(self.seen.count((verb, resource)) for verb in ("list", "watch"))


@pytest.fixture
def watches() -> Watches:
    return Watches()


@pytest.fixture
async def console(cluster: Cluster, watches: Watches) -> AsyncIterator[Console]:
    async with Console(cluster.client(hooks=[watches.hook]), name="tests") as made:
        yield made


@pytest.fixture
def https(tmp_path: Path) -> tuple[Path, Path, ssl.SSLContext]:
    """A certificate for 127.0.0.1, its key, and a context that trusts it."""
    authority = CertificateAuthority("tests")
    certificate, key = authority.issue("console", hosts=["127.0.0.1"]).write(tmp_path, "tls")
    return certificate, key, ssl.create_default_context(cadata=authority.pair.certificate.decode())


async def test_cookies_over_tls_are_secure_and_host_only(
    console: Console, https: tuple[Path, Path, ssl.SSLContext]
) -> None:
    certificate, key, trusting = https
    async with console.serving(certificate=certificate, key=key) as url, aiohttp.ClientSession(url) as http:
        assert url.startswith("https://")
        invited = http.get(console.invitation(), headers=HTML, allow_redirects=False, ssl=trusting)
        async with invited as answer:
            cookie = answer.headers["set-cookie"]
            assert cookie.startswith("__Host-kubewright-")
            assert "Secure" in cookie
            assert "max-age" in answer.headers["strict-transport-security"]


async def test_serves_a_renewed_certificate(cluster: Cluster, tmp_path: Path) -> None:
    clock, authority = VirtualClock(), CertificateAuthority("tests")
    trusting = ssl.create_default_context(cadata=authority.pair.certificate.decode())
    certificate, key = authority.issue("first", hosts=["127.0.0.1"]).write(tmp_path, "tls")

    async def served(url: str) -> str:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), ssl=trusting)
        found: dict[str, Any] = writer.get_extra_info("peercert")
        writer.close()
        return str(dict(pair for part in found["subject"] for pair in part)["commonName"])

    async with (
        Console(cluster.client(), clock=clock) as console,
        console.serving(certificate=certificate, key=key) as url,
    ):
        assert await served(url) == "first"
        certificate.write_text("half written")
        await clock.advance(60)
        assert await served(url) == "first"
        certificate.unlink()
        key.unlink()
        authority.issue("second", hosts=["127.0.0.1"]).write(tmp_path, "tls")
        await clock.advance(60)
        assert await served(url) == "second"


async def test_cookies_behind_tls_proxy_are_secure(console: Console) -> None:
    served = console.serving(urls=["https://console.example.com"])
    headers = {**HTML, "Host": "console.example.com"}
    async with served as url, aiohttp.ClientSession(url) as http:
        async with http.get(console.invitation(), headers=headers, allow_redirects=False) as answer:
            assert answer.headers["set-cookie"].startswith("__Host-kubewright-console=")
        async with http.get(console.invitation(), headers=HTML, allow_redirects=False) as answer:
            assert "Secure" not in answer.headers["set-cookie"]


@pytest.mark.promise(
    "Access to the console and its cost",
    "A WebSocket sends only for its own page, even with another page's ID.",
)
async def test_page_belongs_to_its_viewer(console: Console, console_url: str) -> None:
    def open_session(name: str) -> aiohttp.ClientSession:
        _, secret = console.sessions.begin(console.viewer(name))
        jar = aiohttp.CookieJar(unsafe=True)
        jar.update_cookies({f"kubewright-{console_url.rpartition(':')[2]}": secret})
        return aiohttp.ClientSession(console_url, cookie_jar=jar)

    async with open_session("ann") as owner, open_session("ann") as again, open_session("ben") as other:
        async with owner.get("/", headers=HTML) as answer:
            found = re.search(r"'client_id': '([0-9a-f-]+)'", text := await answer.text())
            assert "tailwind" not in text
        assert found is not None
        socket = f"/_nicegui_ws/socket.io/?EIO=4&transport=websocket&client_id={found[1]}"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await other.ws_connect(socket, origin=console_url)
        assert refusal.value.status == 403
        for hers in (owner, again):
            async with hers.ws_connect(socket, origin=console_url) as opened:
                assert (await opened.receive_str()).startswith("0{")


@asynccontextmanager
async def clusters(tmp_path: Path) -> AsyncIterator[tuple[Cluster, Cluster, Path]]:
    """Two clusters, and a kubeconfig with the contexts `one` and `two`."""
    async with Cluster(rbac=True) as one, Cluster(rbac=True) as two:
        merged: dict[str, Any] = {"current-context": "one", "clusters": [], "users": [], "contexts": []}
        for name, cluster in (("one", one), ("two", two)):
            await cluster.serve()
            found = yaml.safe_load(cluster.kubeconfig().read_text())
            merged["clusters"] += [found["clusters"][0] | {"name": name}]
            merged["users"] += [found["users"][0] | {"name": name}]
            merged["contexts"] += [{"name": name, "context": {"cluster": name, "user": name}}]
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump(merged))
        yield one, two, file


@pytest.mark.promise(
    "Access to the console and its cost",
    "Users can switch kubeconfig contexts; a URL identifies its cluster, so two tabs can show two clusters.",
)
async def test_other_context_shares_sessions(tmp_path: Path) -> None:
    async with clusters(tmp_path) as (_, two, kubeconfig):
        await two.client().create(core.ConfigMap(metadata=ObjectMeta(name="there", namespace="default")))
        async with Console.connect(kubeconfig=kubeconfig, read_only=True) as console:
            assert console.name == "one"
            assert console.contexts is not None
            assert [*console.contexts.names] == ["one", "two"]
            other = await console.contexts.open("two")
            assert (other.name, other.read_only) == ("two", True)
            assert other.sessions is console.sessions
            assert await console.contexts.open("two") is other
            assert other.primary is console
            kind = await other.kind("core/configmaps")
            assert kind is not None
            async with other.cache(kind) as cache:
                assert cache.get("default", "there") is not None
            with pytest.raises(ConfigError, match="context 'three' does not exist"):
                await console.contexts.open("three")


@pytest.mark.promise(
    "Access to the console and its cost",
    "Users can switch kubeconfig contexts; a URL identifies its cluster, so two tabs can show two clusters.",
)
async def test_url_names_its_cluster(tmp_path: Path) -> None:
    async with clusters(tmp_path) as (_, _, kubeconfig):
        merged = yaml.safe_load(kubeconfig.read_text())
        merged["contexts"] += [{"name": "cluster/two's", "context": {"cluster": "two", "user": "two"}}]
        merged["contexts"] += [{"name": "broken", "context": {"cluster": "nothing", "user": "two"}}]
        kubeconfig.write_text(yaml.safe_dump(merged))
        jar = aiohttp.CookieJar(unsafe=True)
        async with (
            Console.connect(kubeconfig=kubeconfig) as console,
            console.serving() as url,
            aiohttp.ClientSession(url, headers=HTML, cookie_jar=jar) as http,
        ):
            there = "/contexts/" + quote("cluster/two's", safe="")
            invited = http.get(there + console.invitation(), allow_redirects=False)
            async with invited as answer:
                assert (answer.status, answer.headers["location"]) == (303, f"{there}/")
            for path, status, said in (
                (there, 200, "Cluster: cluster/two's"),
                (f"{there}/kinds/core/pods", 200, f'prefix: "{there}"'),
                (f"{there}/kinds/core/pds", 404, "This cluster has no kind core/pds"),
                ("/contexts/one/", 200, "Cluster: one"),
                ("/contexts/three/", 404, "context 'three' does not exist"),
                ("/contexts/broken/", 404, "cluster 'nothing'"),
                ("/contexts/", 404, "The console has no page at /contexts/."),
            ):
                async with http.get(URL(path, encoded=True)) as answer:
                    shown = unescape(await answer.text())
                    assert (path, answer.status, said in shown) == (path, status, True), shown[-600:]

            # Users who sign in may not switch: the other contexts belong to the local user.
            _, secret = console.sessions.begin(console.viewer("ann"))
            jar.clear()
            jar.update_cookies({f"kubewright-{url.rpartition(':')[2]}": secret})
            for path, status in (("/contexts/two/", 404), ("/contexts/one/", 200), ("/", 200)):
                async with http.get(path) as answer:
                    assert (path, answer.status) == (path, status)


@pytest.mark.promise(
    "Access to the console and its cost",
    "Viewers' requests can go through an impersonating proxy.",
)
async def test_viewer_requests_can_use_another_server(tmp_path: Path) -> None:
    async with clusters(tmp_path) as (one, two, kubeconfig):
        path = "/api/v1/namespaces/default/serviceaccounts/ann/token"
        tokens = []
        for cluster in (one, two):
            client = cluster.client()
            await client.create(core.ServiceAccount(metadata=ObjectMeta(name="ann", namespace="default")))
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
            tokens.append(msgspec.json.decode(await client.request("POST", path, body=body))["status"]["token"])
        proxy = load_config(kubeconfig=kubeconfig, context="two")
        async with Console.connect(kubeconfig=kubeconfig, viewers=proxy) as console:
            ann = await console.viewer_with_token(tokens[1])
            assert ann.name == "system:serviceaccount:default:ann"
            with pytest.raises(SignInError, match="does not accept this token"):
                await console.viewer_with_token(tokens[0])


@pytest.mark.promise(
    "Access to the console and its cost",
    "A viewer acts with their own credentials; the console's credentials only fill its caches.",
)
async def test_viewer_has_none_of_the_consoles_credentials(tmp_path: Path) -> None:
    async with clusters(tmp_path) as (_, _, kubeconfig):
        config = load_config(kubeconfig=kubeconfig, impersonate_user="system:admin")
        async with Console(Client(config)) as console:
            assert console._anonymous is not None
            assert console._anonymous.config is not None
            left = console._anonymous.config
            assert (left.credentials.certificate_data, left.credentials.token, left.impersonate) == (None, None, None)
            with pytest.raises(SignInError):
                await console.viewer_with_token("guess")


# In a browser


@pytest.mark.promise(
    "Access to the console and its cost",
    "A hundred open pages cost the API server one watch per kind.",
)
@pytest.mark.browser
async def test_several_pages_share_one_watch(
    cluster: Cluster, console_url: str, open_page: OpenPage, watches: Watches
) -> None:
    client = cluster.client()
    await client.create(core.ConfigMap(metadata=ObjectMeta(name="first", namespace="default")))
    pages = [await open_page() for _ in range(3)]
    for page in pages:
        await page.goto(f"{console_url}/kinds/core/configmaps")
    await client.create(core.ConfigMap(metadata=ObjectMeta(name="second", namespace="default")))
    for page in pages:
        await expect(page.get_by_role("gridcell", name="second", exact=True)).to_be_visible()
    assert watches.of("configmaps") == 1


@pytest.mark.promise(
    "Access to the console and its cost",
    "A session cannot be guessed, expires, and closes its pages.",
)
@pytest.mark.browser
async def test_open_page_closes_with_its_session(console: Console, console_url: str, page: Page) -> None:
    await page.goto(f"{console_url}/kinds/core/namespaces")
    await expect(page.get_by_role("gridcell", name="default", exact=True)).to_be_visible()
    for session in [*console.sessions]:
        console.sessions.end(session)
    await expect(page.get_by_label("Bearer token")).to_be_visible()
    await expect(page).to_have_url(f"{console_url}/sign-in?next=%2Fkinds%2Fcore%2Fnamespaces")


@pytest.mark.browser
async def test_page_without_a_connection_closes_after_its_session(
    console: Console, console_url: str, page: Page
) -> None:
    await page.goto(f"{console_url}/kinds/core/namespaces")
    await page.wait_for_function("() => window.socket.connected")
    await page.evaluate("window.socket.disconnect()")
    for session in [*console.sessions]:
        console.sessions.end(session)
    await page.evaluate("window.socket.connect()")
    await expect(page.get_by_label("Bearer token")).to_be_visible()


@pytest.mark.promise(
    "Access to the console and its cost",
    "Users can switch kubeconfig contexts; a URL identifies its cluster, so two tabs can show two clusters.",
)
@pytest.mark.browser
async def test_switches_context_on_the_page(browser: Browser, tmp_path: Path) -> None:
    async with (
        clusters(tmp_path) as (one, two, kubeconfig),
        Console.connect(kubeconfig=kubeconfig) as console,
        console.serving() as url,
    ):
        await two.client().create(core.Namespace(metadata=ObjectMeta(name="only-in-two")))
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(MILLISECONDS)
        await context.request.get(url + console.invitation(), max_redirects=0)
        page = await context.new_page()
        await page.goto(f"{url}/kinds/core/namespaces")
        await page.get_by_role("button", name="Cluster: one").click()
        async with context.expect_page() as opening:
            await page.get_by_role("link", name="two", exact=True).click(modifiers=["ControlOrMeta"])
        tab = await opening.value
        await expect(tab).to_have_url(f"{url}/contexts/two/")
        await expect(tab.get_by_role("button", name="Cluster: two")).to_be_visible()
        await tab.get_by_role("navigation").get_by_role("link", name="Namespace").click()
        await expect(tab).to_have_url(f"{url}/contexts/two/kinds/core/namespaces")
        await expect(tab.get_by_role("gridcell", name="only-in-two", exact=True)).to_be_visible()

        # The first tab stays in its cluster, and so do the objects that it creates.
        await one.client().create(core.Namespace(metadata=ObjectMeta(name="only-in-one")))
        await expect(page.get_by_role("gridcell", name="only-in-one", exact=True)).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("gridcell", name="only-in-one", exact=True)).to_be_visible()
        await expect(page.get_by_role("gridcell", name="only-in-two", exact=True)).to_have_count(0)

        # Everything on a page stays in its cluster: rows, tabs, the namespace, a search.
        await tab.get_by_role("link", name="only-in-two").click()
        await tab.get_by_role("tab", name="YAML").click()
        await expect(tab).to_have_url(f"{url}/contexts/two/objects/core/namespaces/-/only-in-two?tab=yaml")
        await tab.get_by_label("Search kinds and objects").fill("configmaps")
        await tab.get_by_label("Search kinds and objects").press("Enter")
        await expect(tab).to_have_url(f"{url}/contexts/two/kinds/core/configmaps")
        await expect(tab.get_by_role("button", name="Cluster: two")).to_be_visible()
        await context.close()
