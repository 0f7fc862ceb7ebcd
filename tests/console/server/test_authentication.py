"""Who comes in, and as whom, on both clusters: invitations, tokens, proxies; and what means nothing."""

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
from kubewright.console._backend import is_loopback
from kubewright.crd import install
from kubewright.testing import RealCluster
from tests.console.screenshots import shoot

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
    """By a kubeconfig, as `kubewright ui` has it: viewers need a server to sign in at."""
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
    """A client of somebody who has not signed in."""
    async with aiohttp.ClientSession(console_url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


async def sign_in(http: aiohttp.ClientSession, url: str, token: str, next_: str = "/") -> aiohttp.ClientResponse:
    form = {"token": token, "next": next_}
    return await http.post("/sign-in", data=form, headers={"Origin": url}, allow_redirects=False)


async def test_a_stranger_is_sent_to_the_sign_in_page_and_back_again(
    http: aiohttp.ClientSession, console_url: str, token: str
) -> None:
    async with http.get("/kinds/doors.example.com/doors?filter=a", headers=HTML, allow_redirects=False) as answer:
        assert answer.status == 303
        assert (
            answer.headers["location"] == f"/sign-in?next={quote('/kinds/doors.example.com/doors?filter=a', safe='')}"
        )
    async with http.get(answer.headers["location"], headers=HTML) as page:
        assert page.status == 200
        assert "/kinds/doors.example.com/doors?filter=a" in await page.text()
    answer = await sign_in(http, console_url, token, "/kinds/doors.example.com/doors?filter=a")
    assert (answer.status, answer.headers["location"]) == (303, "/kinds/doors.example.com/doors?filter=a")
    async with http.get(answer.headers["location"], headers=HTML, allow_redirects=False) as page:
        assert page.status == 200


@pytest.mark.promise("Who comes into the console, and what it costs", "Tokens and cookies are in no log.")
@pytest.mark.clusters("embedded")
async def test_the_cookie_is_for_this_server_alone(
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
async def test_a_token_that_is_not_known_is_refused_without_being_repeated(
    http: aiohttp.ClientSession, console_url: str
) -> None:
    for wrong, why in (
        ("no.such.token", "does not know this token"),
        ("two words", "no bearer token"),
        ("", "no bear"),
    ):
        answer = await sign_in(http, console_url, wrong)
        text = await answer.text()
        assert answer.status == 401
        assert why in text
        assert not wrong or wrong not in text
        assert "set-cookie" not in answer.headers


@pytest.mark.clusters("embedded")
async def test_nobody_is_sent_to_another_site(http: aiohttp.ClientSession, console_url: str, token: str) -> None:
    for target in ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"):
        answer = await sign_in(http, console_url, token, target)
        assert answer.headers["location"] == "/"


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "The printed address lets whoever started the console in, once.",
)
@pytest.mark.clusters("embedded")
async def test_an_invitation_lets_one_in_once_and_leaves_the_address(
    http: aiohttp.ClientSession, console: Console, console_url: str
) -> None:
    invitation = console.invitation()
    async with http.get(f"{invitation}&filter=a%26b", headers=HTML, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["location"]) == (303, "/?filter=a%26b")
    async with http.get("/", headers=HTML, allow_redirects=False) as answer:
        assert answer.status == 200
    async with aiohttp.ClientSession(console_url) as other:
        async with other.get(invitation, headers=HTML, allow_redirects=False) as answer:
            assert answer.status == 401
            assert "This address was used already" in await answer.text()
        async with other.get("/?invitation=guess", headers=HTML, allow_redirects=False) as answer:
            assert answer.status == 401


@pytest.mark.clusters("embedded")
async def test_a_link_on_another_site_finds_whoever_is_signed_in(http: aiohttp.ClientSession) -> None:
    # The browser keeps a strict cookie back from such a request, and sends it with the next one.
    headers = {**HTML, "Sec-Fetch-Site": "cross-site"}
    async with http.get("/kinds/core/pods?a=%22%3E%3Cscript%3E", headers=headers, allow_redirects=False) as answer:
        text = await answer.text()
    assert answer.status == 200
    assert 'content="0; url=/kinds/core/pods?a=%22%3E%3Cscript%3E"' in text
    assert "<script" not in text


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "The token of the request is who asks; a header that names a user means nothing.",
)
async def test_the_token_of_the_request_is_who_asks(
    http: aiohttp.ClientSession, console: Console, cluster_namespace: str, token: str
) -> None:
    bearer = {**HTML, "Authorization": f"Bearer {token}"}
    async with http.get(console.invitation(), headers=HTML, allow_redirects=False) as answer:
        assert answer.status == 303
    await asyncio.gather(*(http.get("/", headers=bearer) for _ in range(10)))
    assert len(console.sessions) == 2  # of the token there is one, however many ask at once
    async with http.get("/", headers=bearer) as answer:  # although the cookie is that of an administrator
        assert f"system:serviceaccount:{cluster_namespace}:guest" in await answer.text()
    for wrong in ("Bearer no.such.token", "Basic YTpi", "Bearer"):
        async with http.get("/", headers={**HTML, "Authorization": wrong}, allow_redirects=False) as answer:
            assert answer.status == 401


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "The token of the request is who asks; a header that names a user means nothing.",
)
async def test_a_header_that_names_a_user_means_nothing(
    http: aiohttp.ClientSession, cluster_namespace: str, token: str
) -> None:
    groups = {"X-Remote-Group": "system:masters", "Impersonate-Group": "system:masters"}
    for header in ("X-Remote-User", "X-Forwarded-User", "X-Forwarded-Email", "Impersonate-User", "X-Auth-Request-User"):
        named = {**HTML, header: "admin", **groups}
        async with http.get("/", headers=named, allow_redirects=False) as answer:
            assert answer.status == 303
        async with http.get("/", headers={**named, "Authorization": f"Bearer {token}"}) as answer:
            assert f"system:serviceaccount:{cluster_namespace}:guest" in await answer.text()


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A viewer acts with his own credentials; those of the console are for its caches.",
)
async def test_a_viewer_acts_with_his_own_rights_and_not_with_the_consoles(
    console: Console, cluster_namespace: str, token: str
) -> None:
    guest = await console.viewer_with_token(token)
    assert guest.name == f"system:serviceaccount:{cluster_namespace}:guest"
    doors = await guest.client.list(Door, cluster_namespace)
    assert [door.metadata.name for door in doors] == ["front"]
    with pytest.raises(Forbidden):
        await guest.client.list(Door)
    with pytest.raises(Forbidden):
        await guest.client.delete(Door, "front", cluster_namespace)


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A session cannot be guessed, ends in time, and with it its pages.",
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
        assert answer.status == 303  # the cookie opens nothing any more


@pytest.mark.parametrize(("host", "whether"), [("127.0.0.1", True), ("::1", True), ("localhost", True)])
def test_loopback_is_this_machine_alone(host: str, whether: bool) -> None:
    assert is_loopback(host) is whether
    assert not is_loopback("0.0.0.0")  # only asked about
    assert not is_loopback("192.0.2.1")
    assert not is_loopback("console.example.com")


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A viewer acts with his own credentials; those of the console are for its caches.",
)
@pytest.mark.clusters("embedded")
async def test_the_account_of_a_pod_is_for_no_viewer(cluster: Clusters) -> None:
    console = Console(cluster.client(), local=False)
    with pytest.raises(SignInError, match="sign in with a token"):
        console.invitation()
    with pytest.raises(SignInError, match="Sign in with a token"):
        console.viewer()


# In a browser


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A viewer sees what his roles let him list, and objects that he may get by name.",
)
@pytest.mark.browser
async def test_somebody_signs_in_with_a_token_and_sees_what_it_may_see(
    console_url: str, open_page: OpenPage, cluster_namespace: str, token: str
) -> None:
    page = await open_page(signed_in=False)
    await page.goto(f"{console_url}/kinds/doors.example.com/doors")
    await page.get_by_label("Bearer token").fill("no.such.token")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("does not know this token")
    await shoot(page, "sign-in")
    await page.get_by_label("Bearer token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page).to_have_url(f"{console_url}/kinds/doors.example.com/doors")
    await expect(page.get_by_role("gridcell", name="front", exact=True)).to_be_visible()
    assert f"hidden-{cluster_namespace}" not in await page.content()


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "Pages cannot be framed, load nothing from elsewhere, and run only their own scripts.",
)
@pytest.mark.browser
@pytest.mark.clusters("embedded")
async def test_our_pages_keep_their_own_policy(console_url: str, page: Page) -> None:
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
    """A page of somebody else, on another port of this machine: the nearest that an attacker can be."""

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
    "Who comes into the console, and what it costs",
    "A page of another site can do nothing, also not by web sockets.",
)
@pytest.mark.browser
@pytest.mark.clusters("embedded")
async def test_a_page_of_another_origin_can_do_nothing_with_our_cookie(
    console_url: str, page: Page, hostile_url: str
) -> None:
    await page.goto(console_url)
    await page.goto(f"{hostile_url}/#{console_url}")
    await expect(page).not_to_have_title("waiting")
    title = await page.title()
    assert '"socket":"refused"' in title
    assert '"polling":"refused"' in title
    assert '"page":"refused"' in title
    framed = [frame.url for frame in page.frames if frame.url.startswith(console_url)]
    assert framed == []  # the browser shows an error of its own instead
    await page.goto(console_url)
    await expect(page).to_have_url(f"{console_url}/")  # still signed in
