"""Authentication on both clusters: invitations, tokens, proxies, and headers that are ignored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import pytest
from aiohttp import web
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright.api import ObjectMeta, core, rbac
from kubewright.client import Client, Forbidden, load_config
from kubewright.cluster import Cluster
from kubewright.console import Console, SignInError
from kubewright.console._backend import is_loopback  # private: no test may listen beyond loopback
from kubewright.crd import install
from kubewright.testing import RealCluster
from tests.console.screenshots import shoot
from tests.patience import until

pytestmark = pytest.mark.clusters

OpenPage = Callable[..., Awaitable[Page]]
Clusters = Cluster | RealCluster
HTML = {"Accept": "text/html"}


class DoorSpec(kw.Model):
    size: int = 0


@kw.resource("doors.example.com/v1")
class Door(kw.Resource[DoorSpec, None]):
    """A kind of these tests."""


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"rbac": True}


@pytest.fixture
async def console(cluster: Clusters) -> AsyncIterator[Console]:
    """A console from a kubeconfig, as in `kubewright ui`: viewers need a server to verify their tokens."""
    await cluster.serve()
    async with Console(Client(load_config(kubeconfig=cluster.kubeconfig())), name="tests") as made:
        yield made


@pytest.fixture
async def token(cluster: Clusters, cluster_namespace: str) -> str:
    """The token of an account that may only see doors, and only in one namespace."""
    admin = cluster.client()
    await install(admin, Door)
    meta = ObjectMeta(name="guest", namespace=cluster_namespace)
    await admin.create(core.ServiceAccount(metadata=meta))
    rule = rbac.PolicyRule(api_groups=["doors.example.com"], resources=["doors"], verbs=["get", "list", "watch"])
    await admin.create(rbac.Role(metadata=ObjectMeta(name="guest", namespace=cluster_namespace), rules=[rule]))
    await admin.create(
        rbac.RoleBinding(
            metadata=ObjectMeta(name="guest", namespace=cluster_namespace),
            role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="guest"),
            subjects=[rbac.Subject(kind="ServiceAccount", name="guest", namespace=cluster_namespace)],
        )
    )
    for namespace, name in ((cluster_namespace, "front"), ("default", f"hidden-{cluster_namespace}")):
        await admin.create(Door(metadata=ObjectMeta(name=name, namespace=namespace), spec=DoorSpec()))
    path = f"/api/v1/namespaces/{cluster_namespace}/serviceaccounts/guest/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    found: str = msgspec.json.decode(await admin.request("POST", path, body=body))["status"]["token"]
    return found


@pytest.fixture
async def http(console_url: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A client that is not signed in."""
    async with aiohttp.ClientSession(console_url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


async def sign_in(http: aiohttp.ClientSession, url: str, token: str, next_: str = "/") -> aiohttp.ClientResponse:
    """Signs in. Retries while the API server does not respond, because it shares a busy machine."""
    form = {"token": token, "next": next_}

    async def answered() -> aiohttp.ClientResponse | None:
        answer = await http.post("/sign-in", data=form, headers={"Origin": url}, allow_redirects=False)
        return answer if answer.status != 503 else None

    return await until(answered, "an answer to the sign-in")


async def test_redirects_to_sign_in_and_back(http: aiohttp.ClientSession, console_url: str, token: str) -> None:
    async with http.get("/kinds/doors.example.com/doors?filter=a", headers=HTML, allow_redirects=False) as answer:
        assert answer.status == 303
        assert (
            answer.headers["location"] == f"/sign-in?next={quote('/kinds/doors.example.com/doors?filter=a', safe='')}"
        )
    async with http.get(answer.headers["location"], headers=HTML) as page:
        assert page.status == 200
        assert "/kinds/doors.example.com/doors?filter=a" in await page.text()
    answer = await sign_in(http, console_url, token, "/kinds/doors.example.com/doors?filter=a")
    assert (answer.status, answer.headers.get("location")) == (303, "/kinds/doors.example.com/doors?filter=a")
    async with http.get(answer.headers["location"], headers=HTML, allow_redirects=False) as page:
        assert page.status == 200


@pytest.mark.promise("Access to the console and its cost", "Tokens and cookies are never logged.")
@pytest.mark.clusters("embedded")
async def test_cookie_is_http_only_and_same_site(
    http: aiohttp.ClientSession, console_url: str, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    answer = await sign_in(http, console_url, token)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Domain" not in cookie
    assert token not in cookie
    assert token not in caplog.text
    assert cookie.split(";")[0].split("=", 1)[1] not in caplog.text


@pytest.mark.clusters("embedded")
async def test_rejects_unknown_token_without_echoing_it(http: aiohttp.ClientSession, console_url: str) -> None:
    for wrong, why in (
        ("no.such.token", "does not accept this token"),
        ("two words", "not a bearer token"),
        ("", "not a bear"),
    ):
        answer = await sign_in(http, console_url, wrong)
        text = await answer.text()
        assert answer.status == 401
        assert why in text
        assert not wrong or wrong not in text
        assert "set-cookie" not in answer.headers


@pytest.mark.clusters("embedded")
async def test_redirects_only_within_the_console(http: aiohttp.ClientSession, console_url: str, token: str) -> None:
    for target in ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"):
        answer = await sign_in(http, console_url, token, target)
        assert answer.headers["location"] == "/"


@pytest.mark.promise(
    "Access to the console and its cost",
    "The printed URL signs in the user who started the console, once.",
)
@pytest.mark.clusters("embedded")
async def test_invitation_signs_in_once_and_leaves_the_url(
    http: aiohttp.ClientSession, console: Console, console_url: str
) -> None:
    invitation = console.invitation()
    async with http.get(f"{invitation}&filter=a%26b", headers=HTML, allow_redirects=False) as answer:
        assert (answer.status, answer.headers.get("location")) == (303, "/?filter=a%26b")
    async with http.get("/", headers=HTML, allow_redirects=False) as answer:
        assert answer.status == 200
    async with aiohttp.ClientSession(console_url) as other:
        async with other.get(invitation, headers=HTML, allow_redirects=False) as answer:
            assert answer.status == 401
            assert "This address was already used" in await answer.text()
        async with other.get("/?invitation=guess", headers=HTML, allow_redirects=False) as answer:
            assert answer.status == 401


@pytest.mark.clusters("embedded")
async def test_link_from_another_site_keeps_the_session(http: aiohttp.ClientSession) -> None:
    # The browser does not send a strict cookie with such a request, but with the next one.
    headers = {**HTML, "Sec-Fetch-Site": "cross-site"}
    async with http.get("/kinds/core/pods?a=%22%3E%3Cscript%3E", headers=headers, allow_redirects=False) as answer:
        text = await answer.text()
    assert answer.status == 200
    assert 'content="0; url=/kinds/core/pods?a=%22%3E%3Cscript%3E"' in text
    assert "<script" not in text


@pytest.mark.promise(
    "Access to the console and its cost",
    "The token of a request decides its identity; headers that name a user are ignored.",
)
async def test_request_token_decides_identity(
    http: aiohttp.ClientSession, console: Console, cluster_namespace: str, token: str
) -> None:
    bearer = {**HTML, "Authorization": f"Bearer {token}"}
    async with http.get(console.invitation(), headers=HTML, allow_redirects=False) as answer:
        assert answer.status == 303
    await asyncio.gather(*(http.get("/", headers=bearer) for _ in range(10)))
    assert len(console.sessions) == 2  # one session per token, however many requests are concurrent
    async with http.get("/", headers=bearer) as answer:  # although the cookie belongs to an administrator
        assert f"system:serviceaccount:{cluster_namespace}:guest" in await answer.text()
    for wrong in ("Bearer no.such.token", "Basic YTpi", "Bearer"):
        async with http.get("/", headers={**HTML, "Authorization": wrong}, allow_redirects=False) as answer:
            assert answer.status == 401


@pytest.mark.promise(
    "Access to the console and its cost",
    "The token of a request decides its identity; headers that name a user are ignored.",
)
async def test_ignores_user_headers(http: aiohttp.ClientSession, cluster_namespace: str, token: str) -> None:
    groups = {"X-Remote-Group": "system:masters", "Impersonate-Group": "system:masters"}
    for header in ("X-Remote-User", "X-Forwarded-User", "X-Forwarded-Email", "Impersonate-User", "X-Auth-Request-User"):
        named = {**HTML, header: "admin", **groups}
        async with http.get("/", headers=named, allow_redirects=False) as answer:
            assert answer.status == 303
        async with http.get("/", headers={**named, "Authorization": f"Bearer {token}"}) as answer:
            assert f"system:serviceaccount:{cluster_namespace}:guest" in await answer.text()


@pytest.mark.promise(
    "Access to the console and its cost",
    "A viewer acts with their own credentials; the console's credentials only fill its caches.",
)
async def test_viewer_acts_with_own_permissions(console: Console, cluster_namespace: str, token: str) -> None:
    guest = await console.viewer_with_token(token)
    assert guest.name == f"system:serviceaccount:{cluster_namespace}:guest"
    doors = await guest.client.list(Door, cluster_namespace)
    assert [door.metadata.name for door in doors] == ["front"]
    with pytest.raises(Forbidden):
        await guest.client.list(Door)
    with pytest.raises(Forbidden):
        await guest.client.delete(Door, "front", cluster_namespace)


@pytest.mark.promise(
    "Access to the console and its cost",
    "A session cannot be guessed, expires, and closes its pages.",
)
@pytest.mark.clusters("embedded")
async def test_signing_out_ends_the_session(http: aiohttp.ClientSession, console_url: str, token: str) -> None:
    await sign_in(http, console_url, token)
    cookies = {cookie.key: cookie.value for cookie in http.cookie_jar}
    async with http.post("/sign-out", headers={"Origin": console_url}, allow_redirects=False) as answer:
        assert answer.status == 303
    async with (
        aiohttp.ClientSession(console_url, cookies=cookies) as thief,
        thief.get("/", headers=HTML, allow_redirects=False) as answer,
    ):
        assert answer.status == 303  # the cookie is no longer valid


@pytest.mark.parametrize(("host", "whether"), [("127.0.0.1", True), ("::1", True), ("localhost", True)])
def test_loopback_means_this_machine_only(host: str, whether: bool) -> None:
    assert is_loopback(host) is whether
    assert not is_loopback("0.0.0.0")  # never called
    assert not is_loopback("192.0.2.1")
    assert not is_loopback("console.example.com")


@pytest.mark.promise(
    "Access to the console and its cost",
    "A viewer acts with their own credentials; the console's credentials only fill its caches.",
)
@pytest.mark.clusters("embedded")
async def test_pod_account_is_not_available_to_viewers(cluster: Clusters) -> None:
    console = Console(cluster.client(), local=False)
    with pytest.raises(SignInError, match="sign in with a token"):
        console.invitation()
    with pytest.raises(SignInError, match="Sign in with a token"):
        console.viewer()


# In a browser


@pytest.mark.promise(
    "Access to the console and its cost",
    "A viewer sees the objects that their roles let them list, or get by name.",
)
@pytest.mark.browser
async def test_signs_in_with_token_and_shows_visible_objects(
    console_url: str, open_page: OpenPage, cluster_namespace: str, token: str
) -> None:
    page = await open_page(signed_in=False)
    await page.goto(f"{console_url}/kinds/doors.example.com/doors")
    await page.get_by_label("Bearer token").fill("no.such.token")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("does not accept this token")
    await shoot(page, "sign-in")
    await page.get_by_label("Bearer token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page).to_have_url(f"{console_url}/kinds/doors.example.com/doors")
    await expect(page.get_by_role("gridcell", name="front", exact=True)).to_be_visible()
    assert f"hidden-{cluster_namespace}" not in await page.content()


@pytest.mark.promise(
    "Access to the console and its cost",
    "Pages cannot be framed, load nothing from other sites, and run only their own scripts.",
)
@pytest.mark.browser
@pytest.mark.clusters("embedded")
async def test_pages_comply_with_their_own_policy(console_url: str, page: Page) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    for path in ("/", "/kinds/core/namespaces", "/objects/core/namespaces/-/default"):
        await page.goto(console_url + path)
        await expect(page.locator("main, [role=main], .q-page").first).to_be_visible()
    assert [text for text in complaints if "Content Security Policy" in text] == []


_HOSTILE = """<!doctype html><title>waiting</title><script>
const target = location.hash.slice(1), results = {};
async function main() {
  results.socket = await new Promise(done => {
    const socket = new WebSocket(target.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket");
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
  });
  results.polling = await fetch(target + "/_nicegui_ws/socket.io/?EIO=4&transport=polling", {credentials: "include"})
    .then(() => "read", () => "refused");
  results.page = await fetch(target + "/", {credentials: "include"}).then(() => "read", () => "refused");
  await fetch(target + "/sign-out", {method: "POST", mode: "no-cors", credentials: "include"}).catch(() => {});
  results.frame = await new Promise(done => {
    const frame = document.createElement("iframe");
    frame.onload = () => { try { done(frame.contentDocument ? "empty" : "loaded or blocked"); } catch { done("x"); } };
    frame.src = target + "/";
    document.body.append(frame);
  });
  document.title = JSON.stringify(results);
}
addEventListener("load", main);
</script><body></body>"""


@pytest.fixture
async def hostile_url() -> AsyncIterator[str]:
    """A page of another origin: another port of this machine."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=_HOSTILE, content_type="text/html")

    application = web.Application()
    application.router.add_get("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.promise(
    "Access to the console and its cost",
    "A page of another site can do nothing, not even over WebSockets.",
)
@pytest.mark.browser
@pytest.mark.clusters("embedded")
async def test_other_origin_cannot_use_the_cookie(console_url: str, page: Page, hostile_url: str) -> None:
    await page.goto(console_url)
    await page.goto(f"{hostile_url}/#{console_url}")
    await expect(page).not_to_have_title("waiting")
    title = await page.title()
    assert '"socket":"refused"' in title
    assert '"polling":"refused"' in title
    assert '"page":"refused"' in title
    framed = [frame.url for frame in page.frames if frame.url.startswith(console_url)]
    assert framed == []  # the browser shows its own error instead
    await page.goto(console_url)
    await expect(page).to_have_url(f"{console_url}/")  # still signed in
