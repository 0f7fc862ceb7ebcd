"""Sign-in with OpenID Connect, without an API server: tokens, codes, limits, renewal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from kubewright.clock import SystemClock, VirtualClock
from kubewright.console import OIDC, SignInError
from kubewright.console.access import BearerToken, Sessions, SignInUnavailable, Viewer
from kubewright.console.oidc import COOKIE_SECONDS, Grant, OIDCSignIn
from tests.console.oidc.provider import CLIENT, TestProvider, encoded
from tests.patience import until

CALLBACK = "https://console.example.com/sign-in/oidc/callback"


def settings(provider: TestProvider, **more: Any) -> OIDC:
    return OIDC(**{"issuer": provider.url, "client_id": CLIENT, "ca_file": str(provider.ca_file), **more})


@pytest.fixture
async def flow(provider: TestProvider) -> AsyncIterator[OIDCSignIn]:
    made = OIDCSignIn(settings(provider), SystemClock())
    yield made
    await made.close()


async def at_provider(provider: TestProvider, address: str) -> dict[str, str]:
    """Returns the query of the callback after the user signed in."""
    asked = dict(parse_qsl(urlsplit(address).query))
    code = f"code-{len(provider.codes)}-{asked['state']}"
    provider.codes[code] = asked
    return {"state": asked["state"], "code": code}


async def signed_in(provider: TestProvider, flow: OIDCSignIn, next_: str = "/") -> Grant:
    address, cookie = await flow.begin(CALLBACK, next_)
    return await flow.complete(cookie, await at_provider(provider, address))


@pytest.mark.parametrize(("algorithm", "key"), [("RS256", "rsa"), ("ES256", "ec"), ("RS256", None)])
async def test_signs_in_with_code_and_pkce(
    provider: TestProvider, flow: OIDCSignIn, algorithm: str, key: str | None
) -> None:
    provider.algorithm, provider.key_id = algorithm, key
    grant = await signed_in(provider, flow, "/kinds?x=1")
    assert (grant.subject, grant.next) == ("1", "/kinds?x=1")
    assert grant.id_token not in repr(grant)
    for _ in range(2):
        await signed_in(provider, flow)
    assert [what for what, _ in provider.requests].count("configuration") == 1
    assert [what for what, _ in provider.requests].count("keys") == 1


async def test_requests_scopes_and_keeps_query_of_the_endpoint(provider: TestProvider) -> None:
    flow = OIDCSignIn(settings(provider, scopes=("groups", "openid")), SystemClock())
    address, cookie = await flow.begin(CALLBACK)
    asked = dict(parse_qsl(urlsplit(address).query))
    assert asked["tenant"] == "a"
    assert asked["scope"] == "openid groups"
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert asked["nonce"] not in cookie
    assert asked["state"] not in cookie


@pytest.mark.promise(
    "Access to the console and its cost",
    "An ID token must have the right signature, issuer, audience, nonce and times.",
)
@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"nonce": "other"}, "another sign-in"),
        ({"nonce": None}, "another sign-in"),
        ({"aud": "other"}, "for another client"),
        ({"aud": ["other", "another"]}, "for another client"),
        ({"aud": [CLIENT, "other"]}, "issued to another client"),
        ({"azp": "other"}, "issued to another client"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"exp": 1_000}, "expired"),
        ({"exp": None}, "expired"),
        ({"exp": "soon"}, "claims are invalid"),
        ({"iat": 9_999_999_999}, "not valid yet"),
        ({"nbf": 9_999_999_999}, "not valid yet"),
        ({"sub": ""}, "another user"),
    ],
)
async def test_rejects_wrong_claims(
    provider: TestProvider, flow: OIDCSignIn, claims: dict[str, Any], reason: str
) -> None:
    provider.claims = claims
    with pytest.raises(SignInError, match=reason):
        await signed_in(provider, flow)


@pytest.mark.promise(
    "Access to the console and its cost",
    "An ID token must have the right signature, issuer, audience, nonce and times.",
)
@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "RS384", ""])
async def test_rejects_other_algorithms(provider: TestProvider, flow: OIDCSignIn, algorithm: str) -> None:
    provider.algorithm = algorithm
    with pytest.raises(SignInError, match="not signed with RS256 or ES256"):
        await signed_in(provider, flow)


async def test_rejects_forged_signatures(provider: TestProvider, flow: OIDCSignIn) -> None:
    await signed_in(provider, flow)  # the keys are cached now
    genuine, provider.rsa = provider.rsa, rsa.generate_private_key(65_537, 2_048)
    try:
        with pytest.raises(SignInError, match="signature is wrong"):
            await signed_in(provider, flow)
    finally:
        provider.rsa = genuine
    provider.algorithm = "ES256"  # with the name of an RSA key
    with pytest.raises(SignInError, match="no unambiguous key"):
        await signed_in(provider, flow)


async def test_reads_keys_again_for_an_unknown_key_but_not_too_often(
    provider: TestProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = VirtualClock()
    monkeypatch.setattr(provider, "now", lambda: clock.now().timestamp())
    flow = OIDCSignIn(settings(provider), clock)
    await signed_in(provider, flow)
    provider.key_id = "unknown"
    for _ in range(3):
        with pytest.raises(SignInError, match="no unambiguous key"):
            await signed_in(provider, flow)
    assert [what for what, _ in provider.requests].count("keys") == 1
    await clock.advance(31)
    with pytest.raises(SignInError, match="no unambiguous key"):
        await signed_in(provider, flow)
    assert [what for what, _ in provider.requests].count("keys") == 2


@pytest.mark.promise(
    "Access to the console and its cost",
    "A sign-in completes only in the browser that started it, once, within 10 minutes.",
)
async def test_completes_only_with_own_state_and_once(provider: TestProvider, flow: OIDCSignIn) -> None:
    address, cookie = await flow.begin(CALLBACK)
    other_address, other_cookie = await flow.begin(CALLBACK)
    query, other = await at_provider(provider, address), await at_provider(provider, other_address)
    for wrong in ({**query, "state": ""}, {**query, "state": other["state"]}, {"code": query["code"]}):
        with pytest.raises(SignInError, match="not started in this browser"):
            await flow.complete(cookie, wrong)
    for wrong_cookie in ("", "x", cookie[:-4], other_cookie):
        with pytest.raises(SignInError, match="not started in this browser"):
            await flow.complete(wrong_cookie, query)
    await flow.complete(cookie, query)
    with pytest.raises(SignInError, match="already completed"):
        await flow.complete(cookie, query)
    # Another sign-in with the code of the first one: it has another verifier, and the code was already used.
    with pytest.raises(SignInError, match="refused the sign-in"):
        await flow.complete(other_cookie, {**other, "code": query["code"]})


async def test_forgets_sign_ins_after_ten_minutes(provider: TestProvider) -> None:
    clock = VirtualClock()
    flow = OIDCSignIn(settings(provider), clock)
    address, cookie = await flow.begin(CALLBACK)
    await clock.advance(COOKIE_SECONDS + 1)
    with pytest.raises(SignInError, match="longer than 10 minutes"):
        await flow.complete(cookie, await at_provider(provider, address))


async def test_reports_errors_of_the_provider_without_its_text(provider: TestProvider, flow: OIDCSignIn) -> None:
    for code, shown in (("access_denied", "access was denied"), ("<script>", "it reports an error")):
        address, cookie = await flow.begin(CALLBACK)
        state = dict(parse_qsl(urlsplit(address).query))["state"]
        with pytest.raises(SignInError, match=shown) as failure:
            await flow.complete(cookie, {"state": state, "error": code, "error_description": "<b>"})
        assert "<" not in str(failure.value)
    address, cookie = await flow.begin(CALLBACK)
    with pytest.raises(SignInError, match="another provider"):
        await flow.complete(cookie, {**await at_provider(provider, address), "iss": "https://evil.example"})


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://127.0.0.1/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": 7},
        {"more": "x" * 1_100_000},
    ],
)
async def test_rejects_unsafe_discovery_documents(
    provider: TestProvider, flow: OIDCSignIn, document: dict[str, Any]
) -> None:
    provider.document = document
    with pytest.raises(SignInUnavailable):
        await flow.begin(CALLBACK)


async def test_rejects_invalid_token_responses(provider: TestProvider, flow: OIDCSignIn) -> None:
    deep = b'{"id_token": ' + b"[" * 100_000
    for response in (b"", b"{}", b"[]", b'{"id_token": 7}', b'{"id_token": "a.b.c"}', b"x" * 1_100_000, deep):
        provider.token_response = response
        with pytest.raises(SignInError):
            await signed_in(provider, flow)
    provider.token_response = b'{"id_token": "%s"}' % f"{encoded(b'{}')}.{encoded(b'{}')}.".encode()
    with pytest.raises(SignInError, match="not signed with"):
        await signed_in(provider, flow)


async def test_verifies_the_certificate_of_the_provider(
    provider: TestProvider, caplog: pytest.LogCaptureFixture
) -> None:
    flow = OIDCSignIn(settings(provider, ca_file=None), SystemClock())
    with pytest.raises(SignInUnavailable, match="cannot be used at the moment"):
        await flow.begin(CALLBACK)
    assert "certificate" in caplog.text  # the reason is for the administrator


@pytest.mark.promise(
    "Access to the console and its cost", "The OIDC client secret is read from a file, and never logged."
)
async def test_sends_client_secret_from_file(
    provider: TestProvider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    file = tmp_path / "secret"
    provider.secret = "s3cret-word"
    flow = OIDCSignIn(settings(provider, client_secret_file=str(file)), SystemClock())
    for content in (None, "", "wrong-word"):
        if content is not None:
            file.write_text(content)
        with pytest.raises(SignInUnavailable):
            await signed_in(provider, flow)
    file.write_text("s3cret-word\n")  # rotated
    await signed_in(provider, flow)
    provider.document = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    provider.secret = None
    await signed_in(provider, OIDCSignIn(flow.settings, SystemClock()))
    assert provider.requests[-2][1]["client_secret"] == "s3cret-word"
    assert "s3cret-word" not in caplog.text
    assert "wrong-word" not in caplog.text
    assert "s3cret-word" not in repr(flow.settings)


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "http://login.example.com"},
        {"issuer": "https://"},
        {"issuer": "https://a@b.example"},
        {"issuer": "https://login.example.com/?x=1"},
        {"issuer": "https://login.example.com:x"},
        {"client_id": ""},
        {"client_id": "a\nb"},
        {"scopes": ("two words",)},
    ],
)
def test_rejects_invalid_settings(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="OIDC"):
        OIDC(**{"issuer": "https://login.example.com", "client_id": "console", **wrong})


# Renewal


class Ann(Viewer):
    """A viewer without a client."""

    def __init__(self) -> None:
        self.name = "ann"


class Kept:
    """A session that a flow keeps."""

    def __init__(self, provider: TestProvider, clock: VirtualClock) -> None:
        self.clock = clock
        self.provider = provider
        self.flow = OIDCSignIn(settings(provider), self.clock)
        self.sessions = Sessions(self.clock)
        self.name = "ann"
        self.checked = asyncio.Event()

    async def start(self) -> None:
        grant = await signed_in(self.provider, self.flow)
        self.token = BearerToken(grant.id_token)
        self.first = grant.id_token
        self.session, _ = self.sessions.begin(Ann())
        self.ended = asyncio.Event()
        self.session.on_end.append(self.ended.set)
        self.flow.keep(self.session, self.sessions, self.token, grant, self.check)

    async def check(self) -> str:
        self.checked.set()
        return self.name


@pytest.fixture
async def kept(provider: TestProvider, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Kept]:
    clock = VirtualClock()
    monkeypatch.setattr(provider, "now", lambda: clock.now().timestamp())
    made = Kept(provider, clock)
    yield made
    await made.flow.close()


@pytest.mark.promise(
    "Access to the console and its cost", "A session ends with its ID token, unless the provider renews it."
)
async def test_renews_the_token_before_it_expires(provider: TestProvider, kept: Kept) -> None:
    provider.refreshes, provider.life = True, 300.0
    await kept.start()
    for _ in range(3):
        await kept.clock.advance(241)
        await kept.checked.wait()
        kept.checked.clear()
    assert kept.token.value != kept.first
    assert kept.sessions.alive(kept.session)


@pytest.mark.promise(
    "Access to the console and its cost", "A session ends with its ID token, unless the provider renews it."
)
async def test_ends_the_session_with_the_token(provider: TestProvider, kept: Kept) -> None:
    provider.life = 300.0
    await kept.start()
    await kept.clock.advance(299)
    assert kept.sessions.alive(kept.session)
    await kept.clock.advance(2)
    await kept.ended.wait()


async def test_ends_the_session_if_the_provider_refuses_to_renew(provider: TestProvider, kept: Kept) -> None:
    provider.refreshes, provider.life = True, 300.0
    await kept.start()
    provider.refresh_tokens.clear()  # the administrator has signed the user out
    await kept.clock.advance(241)
    await kept.ended.wait()
    assert kept.token.value == kept.first


@pytest.mark.parametrize("claims", [{"sub": "2"}, {"aud": "other"}, {"iss": "https://evil.example"}])
async def test_ends_the_session_if_the_new_token_is_wrong(
    provider: TestProvider, kept: Kept, claims: dict[str, Any]
) -> None:
    provider.refreshes, provider.life = True, 300.0
    await kept.start()
    provider.claims = claims
    await kept.clock.advance(241)
    await kept.ended.wait()
    assert kept.token.value == kept.first


async def test_ends_the_session_if_the_user_has_another_name(provider: TestProvider, kept: Kept) -> None:
    provider.refreshes, provider.life = True, 300.0
    await kept.start()
    kept.name = "eve"
    await kept.clock.advance(241)
    await kept.ended.wait()


async def test_retries_renewal_until_the_token_expires(provider: TestProvider, kept: Kept) -> None:
    provider.refreshes, provider.life = True, 300.0
    await kept.start()
    provider.token_response = b"not JSON"
    before = len(provider.requests)
    await kept.clock.advance(250)
    await until(lambda: len(provider.requests) > before + 1)
    provider.token_response = None
    await kept.clock.advance(10)
    await kept.checked.wait()
    assert kept.sessions.alive(kept.session)


async def test_stops_renewing_after_sign_out(provider: TestProvider, kept: Kept) -> None:
    provider.refreshes, provider.life = True, 300.0
    await kept.start()
    kept.sessions.end(kept.session)
    before = len(provider.requests)
    await kept.clock.advance(3_600)
    assert len(provider.requests) == before
