"""Sign-in with OpenID Connect through the console's server: cookies, callbacks, and the API server that decides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import pytest
from playwright.async_api import Page, expect

from kubewright.api import ObjectMeta, core, rbac
from kubewright.client import Client, Forbidden, load_config
from kubewright.cluster import Cluster
from kubewright.console import OIDC, Console
from kubewright.console.access import username_of
from kubewright.testing import ControlPlane
from tests.console.oidc.provider import CLIENT, USER, TestProvider
from tests.console.screenshots import shoot
from tests.patience import until

HTML = {"Accept": "text/html"}

OpenPage = Callable[..., Awaitable[Page]]


def oidc(provider: TestProvider) -> OIDC:
    return OIDC(issuer=provider.url, client_id=CLIENT, ca_file=str(provider.ca_file), name="Example <SSO>")


# On a cluster that does not know the provider


@pytest.fixture
async def console(provider: TestProvider) -> AsyncIterator[Console]:
    async with Cluster() as cluster:
        await cluster.serve()
        async with Console(Client(load_config(kubeconfig=cluster.kubeconfig())), oidc=oidc(provider)) as made:
            yield made


@pytest.fixture
async def http(console_url: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A client that is not signed in."""
    async with aiohttp.ClientSession(console_url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


async def started(http: aiohttp.ClientSession, provider: TestProvider, next_: str = "/") -> str:
    """Starts a sign-in, and returns the address of the callback as the provider would."""
    parameters = {"next": next_}
    async with http.get("/sign-in/oidc", params=parameters, headers=HTML, allow_redirects=False) as answer:
        assert answer.status == 303
        address = answer.headers["location"]
        cookie = answer.headers["set-cookie"]
    assert address.startswith(f"{provider.url}/authorize")
    assert "SameSite=lax" in cookie
    assert "HttpOnly" in cookie
    assert "Max-Age=600" in cookie
    async with http.get(address, ssl=False, allow_redirects=False) as answer:
        return answer.headers["location"]


async def failure(http: aiohttp.ClientSession, callback: str) -> str:
    """Opens a callback that must fail, and returns the page."""
    async with http.get(callback, headers=HTML, allow_redirects=False) as answer:
        assert answer.status == 401
        assert answer.headers["set-cookie"].count("Max-Age=0") == 1  # the cookie of the sign-in is deleted
        assert "SameSite=strict" not in answer.headers["set-cookie"]
        return await answer.text()


async def test_offers_the_provider_beside_tokens(http: aiohttp.ClientSession) -> None:
    async with http.get("/sign-in?next=/kinds/a%26b", headers=HTML) as answer:
        page = await answer.text()
    assert "Sign in with Example &lt;SSO&gt;" in page
    assert 'href="/sign-in/oidc?next=%2Fkinds%2Fa%26b"' in page
    assert "Bearer token" in page


async def test_api_server_decides_whether_the_token_is_valid(
    http: aiohttp.ClientSession, provider: TestProvider, console: Console
) -> None:
    page = await failure(http, await started(http, provider))
    assert "The API server does not accept your ID token." in page
    assert len(console.sessions) == 0


@pytest.mark.promise(
    "Access to the console and its cost",
    "A sign-in completes only in the browser that started it, once, within 10 minutes.",
)
async def test_rejects_forged_callbacks(
    http: aiohttp.ClientSession, console_url: str, provider: TestProvider, console: Console
) -> None:
    callback = await started(http, provider)
    async with aiohttp.ClientSession(console_url) as other_browser:
        assert "not started in this browser" in await failure(other_browser, callback)
    query = dict(parse_qsl(urlsplit(callback).query))
    assert "not started in this browser" in await failure(http, callback.replace(query["state"], "wrong"))
    # The cookie is deleted, so now even the correct callback fails.
    assert "not started in this browser" in await failure(http, callback)
    assert "ambiguous" in await failure(http, f"{await started(http, provider)}&state=x")
    assert not any(what == "token" for what, _ in provider.requests)
    assert len(console.sessions) == 0


async def test_delays_addresses_whose_sign_ins_fail(http: aiohttp.ClientSession) -> None:
    statuses = []
    for _ in range(7):
        async with http.get("/sign-in/oidc/callback?code=x&state=y", headers=HTML) as answer:
            statuses.append(answer.status)
    assert statuses == [401] * 6 + [429]


async def test_unavailable_provider_is_not_a_failed_sign_in(
    http: aiohttp.ClientSession, provider: TestProvider, console: Console
) -> None:
    provider.document = {"issuer": "https://other.example"}
    async with http.get("/sign-in/oidc", headers=HTML, allow_redirects=False) as answer:
        assert answer.status == 503
        assert "sign in with a token" in await answer.text()
    assert len(console.sign_ins) == 0


async def test_accepts_only_get(http: aiohttp.ClientSession, console_url: str) -> None:
    for path in ("/sign-in/oidc", "/sign-in/oidc/callback"):
        async with http.post(path, headers={"Origin": console_url}, allow_redirects=False) as answer:
            assert answer.status == 405


@pytest.mark.clusters("embedded")
class TestWithoutProvider:
    @pytest.fixture
    async def console(self, cluster: Cluster) -> AsyncIterator[Console]:
        async with Console(cluster.client()) as made:
            yield made

    async def test_serves_no_oidc_routes(self, http: aiohttp.ClientSession) -> None:
        for path in ("/sign-in/oidc", "/sign-in/oidc/callback"):
            async with http.get(path, headers=HTML, allow_redirects=False) as answer:
                assert answer.headers["location"].startswith("/sign-in?next=")
        async with http.get("/sign-in", headers=HTML) as answer:
            assert "Sign in with" not in await answer.text()


# On a real API server that trusts the provider


@pytest.fixture(scope="module")
def plane(module_provider: TestProvider) -> Iterator[ControlPlane]:
    flags = {
        "oidc-issuer-url": module_provider.url,
        "oidc-client-id": CLIENT,
        "oidc-ca-file": str(module_provider.ca_file),
        "oidc-username-claim": "email",
        "oidc-groups-claim": "groups",
        "oidc-groups-prefix": "oidc:",
    }
    with ControlPlane(apiserver_flags=flags) as made:
        yield made


@pytest.mark.control_plane
@pytest.mark.browser
class TestOnRealServer:
    @pytest.fixture
    async def admin(self, plane: ControlPlane) -> AsyncIterator[Client]:
        async with Client.connect(kubeconfig=plane.kubeconfig) as client:
            yield client

    @pytest.fixture
    async def console(self, plane: ControlPlane, provider: TestProvider) -> AsyncIterator[Console]:
        config = load_config(kubeconfig=plane.kubeconfig)
        async with Console(Client(config), name="tests", oidc=oidc(provider)) as made:
            await until(lambda: self.accepts(made, provider), "the API server has read the provider's keys")
            yield made

    @staticmethod
    async def accepts(console: Console, provider: TestProvider) -> bool:
        try:
            return (await console.viewer_with_token(provider.token("any"))).name == USER
        except Exception:  # the API server reads the discovery document in the background
            return False

    @pytest.mark.promise(
        "Access to the console and its cost",
        "OIDC users act with their own ID token, which the API server verifies. The console impersonates no user.",
    )
    async def test_signs_in_and_shows_permitted_objects(
        self, console: Console, console_url: str, open_page: OpenPage, admin: Client, provider: TestProvider
    ) -> None:
        for namespace in ("open", "closed"):
            await admin.create(core.Namespace(metadata=ObjectMeta(name=namespace)))
            meta = ObjectMeta(name=f"in-{namespace}", namespace=namespace)
            await admin.create(core.ConfigMap(metadata=meta))
        rule = rbac.PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["get", "list", "watch"])
        await admin.create(rbac.Role(metadata=ObjectMeta(name="reader", namespace="open"), rules=[rule]))
        await admin.create(
            rbac.RoleBinding(
                metadata=ObjectMeta(name="reader", namespace="open"),
                role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="reader"),
                subjects=[rbac.Subject(api_group="rbac.authorization.k8s.io", kind="Group", name="oidc:developers")],
            )
        )
        page = await open_page(signed_in=False, ignore_https_errors=True)
        await page.goto(f"{console_url}/kinds/core/configmaps")
        await shoot(page, "sign-in-oidc")
        await page.get_by_role("link", name="Sign in with Example <SSO>").click()
        await expect(page).to_have_url(f"{console_url}/kinds/core/configmaps")
        await expect(page.get_by_role("gridcell", name="in-open", exact=True)).to_be_visible()
        assert "in-closed" not in await page.content()
        [session] = console.sessions
        assert session.viewer.name == USER
        with pytest.raises(Forbidden):
            await session.viewer.client.list(core.ConfigMap, "closed")
        cookies = [one for one in await page.context.cookies(console_url) if one["httpOnly"]]
        assert [cookie["sameSite"] for cookie in cookies] == ["Strict"]  # the cookie of the sign-in is deleted
        # Signing out ends the session and closes everything that it has opened.
        ended: list[bool] = []
        session.on_end.append(lambda: ended.append(True))
        await page.request.post(f"{console_url}/sign-out", headers={"Origin": console_url})
        assert ended == [True]
        assert len(console.sessions) == 0

    @pytest.mark.promise("Access to the console and its cost", "A sign-in opens only pages of the console afterwards.")
    @pytest.mark.parametrize(
        "target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", '/"><b>']
    )
    async def test_opens_only_own_pages(self, http: aiohttp.ClientSession, provider: TestProvider, target: str) -> None:
        async with http.get(await started(http, provider, target), headers=HTML, allow_redirects=False) as answer:
            page = await answer.text()
            assert answer.status == 200
            assert "SameSite=strict" in answer.headers.getall("set-cookie")[-1]
        assert "evil" not in page
        assert "alert" not in page
        assert "<b>" not in page
        assert 'content="0; url=/' in page

    async def test_ends_the_session_when_the_token_expires(
        self, console: Console, http: aiohttp.ClientSession, provider: TestProvider
    ) -> None:
        provider.claims = {"exp": provider.now() + 3}
        async with http.get(await started(http, provider), headers=HTML, allow_redirects=False) as answer:
            assert answer.status == 200
        await until(lambda: len(console.sessions) == 0)

    async def test_uses_the_renewed_token(
        self, console: Console, http: aiohttp.ClientSession, provider: TestProvider
    ) -> None:
        provider.refreshes, provider.life = True, 8.0
        async with http.get(await started(http, provider), headers=HTML, allow_redirects=False) as answer:
            assert answer.status == 200
        expires, provider.life = provider.now() + 8.0, 3_600.0
        await until(lambda: any(form.get("grant_type") == "refresh_token" for _, form in provider.requests))
        await until(lambda: provider.now() > expires)
        [session] = console.sessions
        assert await username_of(session.viewer.client) == USER
