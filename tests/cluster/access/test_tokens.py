"""Service account tokens: expiration and invalidation."""

from __future__ import annotations

import base64
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.access import user_named
from tests.cluster.access.conftest import As, grant
from tests.cluster.conftest import Got, Raw

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
MAPS = "/api/v1/namespaces/default/configmaps"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ROBOT = "system:serviceaccount:default:robot"


@pytest.fixture
def anyone(requests_as: As) -> Raw:
    return requests_as("system:anonymous")


async def token_of(admin: Raw, **spec: Any) -> str:
    await admin("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    made = await admin("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})
    assert made.status == 201, made.body
    return str(made.body["status"]["token"])


async def with_token(raw: Raw, token: str, method: str = "POST", path: str = WHO) -> Got:
    body: dict[str, Any] | None = {} if method == "POST" else None
    return await raw(method, path, body, headers={"Authorization": f"Bearer {token}"})


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Service account tokens are signed, expire by the clock, and end with their bound objects, also over HTTPS.",
)
async def test_token_expires_by_the_clock_of_the_cluster(admin: Raw, anyone: Raw, clock: VirtualClock) -> None:
    token = await token_of(admin, expirationSeconds=600)
    got = await with_token(anyone, token)
    assert got.status == 201
    assert got.body["status"]["userInfo"]["username"] == ROBOT
    await clock.advance(600 + 59)  # allowed clock skew: one minute
    assert (await with_token(anyone, token)).status == 201
    await clock.advance(2)
    got = await with_token(anyone, token)
    assert (got.status, got.body["message"]) == (401, "Unauthorized")
    review = await admin("POST", REVIEWS, {"spec": {"token": token}})
    assert review.body["status"]["error"] == "[invalid bearer token, service account token has expired]"


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Service account tokens are signed, expire by the clock, and end with their bound objects, also over HTTPS.",
)
async def test_token_is_invalid_after_its_account_is_recreated(admin: Raw, anyone: Raw) -> None:
    token = await token_of(admin)
    await admin("DELETE", f"{ACCOUNTS}/robot")
    assert (await with_token(anyone, token)).status == 401
    new = await token_of(admin)
    assert (await with_token(anyone, token)).status == 401
    assert (await with_token(anyone, new)).status == 201


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Service account tokens are signed, expire by the clock, and end with their bound objects, also over HTTPS.",
)
@pytest.mark.parametrize(
    ("plural", "kind", "content"),
    [
        ("namespaces/default/secrets", "Secret", {}),
        (
            "namespaces/default/pods",
            "Pod",
            {"spec": {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}},
        ),
        ("nodes", "Node", {}),
    ],
)
async def test_token_is_invalid_after_its_bound_object_is_deleted(
    admin: Raw, anyone: Raw, plural: str, kind: str, content: dict[str, Any]
) -> None:
    await admin("POST", f"/api/v1/{plural}", {"metadata": {"name": "bound"}, **content})
    token = await token_of(admin, boundObjectRef={"kind": kind, "apiVersion": "v1", "name": "bound"})
    assert (await with_token(anyone, token)).status == 201
    await admin("DELETE", f"/api/v1/{plural}/bound?gracePeriodSeconds=0")
    assert (await with_token(anyone, token)).status == 401


@pytest.mark.promise(
    "Access to the embedded cluster",
    "A modified token, or one of another cluster, is rejected.",
)
async def test_rejects_modified_token(admin: Raw, anyone: Raw) -> None:
    token = await token_of(admin)
    header, payload, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    claims["sub"] = "system:serviceaccount:kube-system:robot"
    forged = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    nothing = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    none_like_ours = base64.urlsafe_b64encode(json.dumps({"alg": "none", "kid": kid(header)}).encode()).decode()
    for changed in (
        f"{header}.{forged}.{signature}",
        f"{nothing}.{payload}.",
        f"{nothing}.{forged}.{signature}",
        f"{none_like_ours.rstrip('=')}.{payload}.",
        f"{header}.{payload}.",
        f"{header}.{payload}.{signature[:-4]}",
        f"{header}.{payload}",
        f"{header}.{payload}.{'A' * 86}",
        f"{header}.{payload}.%%%",
        "..",
        "x" * 100_000,
        ".".join((header, as_part(b"[" * 50_000), signature)),
        ".".join((as_part(b'{"a":' * 50_000), payload, signature)),
        ".".join((as_part(b'{"iss":"\xff"}'), payload, signature)),
        "\udcff.\udcff.\udcff",
    ):
        got = await with_token(anyone, changed)
        assert (got.status, got.body["message"]) == (401, "Unauthorized"), changed[:80]


def as_part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def kid(header: str) -> str:
    return str(json.loads(base64.urlsafe_b64decode(header + "=="))["kid"])


@pytest.mark.promise(
    "Access to the embedded cluster",
    "A modified token, or one of another cluster, is rejected.",
)
async def test_rejects_token_of_another_cluster(admin: Raw, anyone: Raw) -> None:
    async with Cluster(seed=1, rbac=True) as other:  # the seed does not affect keys
        token = await token_of(Raw(other.transport()))
    await token_of(admin)
    assert (await with_token(anyone, token)).status == 401


async def test_token_is_valid_for_its_audience_only(admin: Raw, anyone: Raw) -> None:
    token = await token_of(admin, audiences=["vault"])
    assert (await with_token(anyone, token)).status == 401
    review = await admin("POST", REVIEWS, {"spec": {"token": token, "audiences": ["vault", "other"]}})
    assert review.body["status"]["authenticated"] is True
    assert review.body["status"]["audiences"] == ["vault"]


async def test_token_takes_precedence_over_the_client_user(admin: Raw) -> None:
    token = await token_of(admin)
    assert (await with_token(admin, token, "GET", MAPS)).status == 403
    await grant(admin, ROBOT, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]})
    assert (await with_token(admin, token, "GET", MAPS)).status == 200


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Service account tokens are signed, expire by the clock, and end with their bound objects, also over HTTPS.",
)
async def test_tokens_work_and_expire_over_https(tmp_path: Path, clock: VirtualClock) -> None:
    import aiohttp

    async with Cluster(clock=clock, rbac=True) as cluster:
        url = await cluster.serve()
        admin = Raw(cluster.transport())
        token = await token_of(admin)
        await grant(admin, ROBOT, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]})
        trust = ssl.create_default_context(cadata=cluster.state.ca_certificate or ca_of(cluster, tmp_path))

        async def status(path: str, *tokens: str) -> int:
            headers = [("Authorization", f"Bearer {each}") for each in tokens]
            async with session.get(f"{url}{path}", headers=headers, ssl=trust) as response:
                return response.status

        async with aiohttp.ClientSession() as session:
            assert await status(MAPS, token) == 200
            assert await status("/api/v1/nodes", token) == 403
            assert await status(MAPS) == 403  # the anonymous user has no permissions
            assert await status("/version") == 200
            assert await status(MAPS, "nonsense") == 401
            assert await status(MAPS, cluster.token) == 200
            await clock.advance(3600 + 61)
            assert await status(MAPS, token) == 401


def ca_of(cluster: Cluster, folder: Path) -> str:
    import yaml

    content = yaml.safe_load(cluster.kubeconfig(folder / "config").read_text())
    return base64.b64decode(content["clusters"][0]["cluster"]["certificate-authority-data"]).decode()


async def test_without_rbac_tokens_identify_the_user(clock: VirtualClock) -> None:
    async with Cluster(clock=clock) as cluster:
        admin = Raw(cluster.transport())
        token = await token_of(admin)
        got = await with_token(Raw(cluster.transport(user_named("system:anonymous"))), token)
        assert got.body["status"]["userInfo"]["username"] == ROBOT
        assert (await with_token(admin, token, "GET", "/api/v1/nodes")).status == 200


async def test_token_review_accepts_the_administrator_token() -> None:
    async with Cluster(rbac=True) as cluster:
        await cluster.serve()
        review = await Raw(cluster.transport())("POST", REVIEWS, {"spec": {"token": cluster.token}})
    assert review.body["status"]["user"] == {
        "username": "kubewright-admin",
        "groups": ["system:masters", "system:authenticated"],
    }


async def test_published_key_verifies_tokens(admin: Raw, requests_as: As) -> None:
    token = await token_of(admin)
    robot = requests_as(ROBOT)  # every service account may read these
    issuer = (await robot("GET", "/.well-known/openid-configuration")).body
    [key] = (await robot("GET", "/openid/v1/jwks")).body["keys"]
    content, _, signature = token.rpartition(".")
    header, payload = (json.loads(decoded(part)) for part in content.split("."))
    assert (key["kid"], key["alg"], payload["iss"]) == (header["kid"], header["alg"], issuer["issuer"])
    numbers = ec.EllipticCurvePublicNumbers(
        int.from_bytes(decoded(key["x"])), int.from_bytes(decoded(key["y"])), ec.SECP256R1()
    )
    both = decoded(signature)
    signed = utils.encode_dss_signature(int.from_bytes(both[:32]), int.from_bytes(both[32:]))
    # raises unless this cluster signed it
    numbers.public_key().verify(signed, content.encode(), ec.ECDSA(hashes.SHA256()))
    assert (await requests_as("system:anonymous")("GET", "/openid/v1/jwks")).status == 403


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


async def test_each_cluster_has_its_own_secret_key(guarded: Cluster, admin: Raw) -> None:
    await token_of(admin)
    tokens = guarded.dispatcher.access.tokens
    assert isinstance(tokens._key, ec.EllipticCurvePrivateKey)
    assert "key" not in repr(tokens).lower()
