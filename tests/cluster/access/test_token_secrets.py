"""Secrets with service account tokens."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from tests.cluster.access.conftest import As
from tests.cluster.access.test_tokens import ACCOUNTS, ROBOT, WHO, with_token
from tests.cluster.conftest import Raw

SECRETS = "/api/v1/namespaces/default/secrets"


def asking(account: str = "robot", **more: str) -> dict[str, Any]:
    annotations = {"kubernetes.io/service-account.name": account, **more}
    return {"metadata": {"name": "holder", "annotations": annotations}, "type": "kubernetes.io/service-account-token"}


@pytest.fixture
def anyone(requests_as: As) -> Raw:
    return requests_as("system:anonymous")


async def held(cluster: Cluster, admin: Raw) -> dict[str, str]:
    await cluster.settled()
    secret = await admin("GET", f"{SECRETS}/holder")
    assert secret.status == 200, secret.body
    return {name: base64.b64decode(each).decode() for name, each in secret.body["data"].items()}


@pytest.mark.promise(
    "Access to the embedded cluster",
    "A token Secret gets a token and is deleted with its service account.",
)
async def test_secret_gets_a_token_that_does_not_expire(
    guarded: Cluster, admin: Raw, anyone: Raw, clock: VirtualClock
) -> None:
    account = await admin("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    await admin("POST", SECRETS, asking())
    data = await held(guarded, admin)
    assert data["namespace"] == "default"
    await clock.advance(10 * 365 * 24 * 3600)
    got = await with_token(anyone, data["token"])
    assert got.body["status"]["userInfo"] == {
        "username": ROBOT,
        "uid": account.body["metadata"]["uid"],
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    }
    secret = (await admin("GET", f"{SECRETS}/holder")).body
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == account.body["metadata"]["uid"]


async def test_token_is_valid_while_its_secret_contains_it(guarded: Cluster, admin: Raw, anyone: Raw) -> None:
    await admin("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    await admin("POST", SECRETS, asking())
    first = (await held(guarded, admin))["token"]
    patch = {"data": {"token": None}}
    await admin("PATCH", f"{SECRETS}/holder", patch, type="application/merge-patch+json")
    second = (await held(guarded, admin))["token"]
    assert (await with_token(anyone, first)).status == 401
    assert (await with_token(anyone, second)).status == 201
    await admin("DELETE", f"{SECRETS}/holder")
    assert (await with_token(anyone, second)).status == 401


@pytest.mark.promise(
    "Access to the embedded cluster",
    "A token Secret gets a token and is deleted with its service account.",
)
async def test_secret_is_deleted_with_its_account(guarded: Cluster, admin: Raw, anyone: Raw) -> None:
    await admin("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    await admin("POST", SECRETS, asking())
    token = (await held(guarded, admin))["token"]
    await admin("DELETE", f"{ACCOUNTS}/robot")
    await guarded.settled()
    assert (await admin("GET", f"{SECRETS}/holder")).status == 404
    assert (await with_token(anyone, token, "POST", WHO)).status == 401


@pytest.mark.parametrize("body", [asking("missing"), asking(**{"kubernetes.io/service-account.uid": "another"})])
async def test_secret_without_account_is_deleted(guarded: Cluster, admin: Raw, body: dict[str, Any]) -> None:
    await admin("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    assert (await admin("POST", SECRETS, body)).status == 201
    await guarded.settled()
    assert (await admin("GET", f"{SECRETS}/holder")).status == 404


async def test_other_secrets_are_unchanged(guarded: Cluster, admin: Raw) -> None:
    await admin("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    opaque = {**asking(), "type": "Opaque"}
    made = await admin("POST", SECRETS, opaque)
    await guarded.settled()
    assert (await admin("GET", f"{SECRETS}/holder")).body == made.body
