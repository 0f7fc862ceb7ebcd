"""Tests of Password."""

from __future__ import annotations

import asyncio
import logging
import string
from typing import Any

import msgspec
import pytest
from password import SYMBOLS, Password, PasswordSpec, generate, operator

from kubewright.api import apiextensions, core, meta
from kubewright.client import ApiError, Client, MergePatch, NotFound
from kubewright.crd import install
from kubewright.rbac import WATCHED

pytestmark = pytest.mark.clusters

MESSAGE = "number of digits and symbols must be less than total length"


def make(namespace: str, **spec: Any) -> Password:
    return Password(metadata=meta.ObjectMeta(name="one", namespace=namespace), spec=PasswordSpec(**spec))


async def in_state(client: Client, namespace: str, state: str) -> Password:
    return await client.wait_for(Password, "one", lambda found: found.status.state == state, namespace)


async def secret_of(client: Client, namespace: str) -> str:
    """Returns the generated password."""
    secret = await client.get(core.Secret, "one", namespace)
    return (secret.data or {})["password"].decode()


async def test_creates_the_secret_once(client: Client, namespace: str) -> None:
    async with operator.running(client, namespaces=[namespace], webhook_bind="0"):
        made = await client.create(make(namespace, length=30, digit=7, symbol=5))
        await in_state(client, namespace, "InSync")
        first = await secret_of(client, namespace)
        # A later change of the spec does not change the password.
        await client.patch(Password, "one", MergePatch({"spec": {"length": 40}, "status": None}), namespace)
    async with operator.running(client, namespaces=[namespace], webhook_bind="0") as running:
        while not running.controller(Password).stats.reconciles["success"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    secret = await client.get(core.Secret, "one", namespace)
    [owner] = secret.metadata.owner_references
    assert (owner.kind, owner.uid, owner.controller) == ("Password", made.metadata.uid, True)
    assert list(secret.data or {}) == ["password"]
    word = await secret_of(client, namespace)
    assert word == first
    assert len(word) == 30
    assert sum(one in string.digits for one in word) == 7
    assert sum(one in SYMBOLS for one in word) == 5


async def test_deletes_the_secret_with_the_password(client: Client, namespace: str) -> None:
    async with operator.running(client, namespaces=[namespace], webhook_bind="0"):
        await client.create(make(namespace))
        await in_state(client, namespace, "InSync")
        await client.delete(Password, "one", namespace)
        while "one" in {secret.metadata.name for secret in await client.list(core.Secret, namespace)}:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_does_not_touch_a_foreign_secret(client: Client, namespace: str) -> None:
    theirs = core.Secret(metadata=meta.ObjectMeta(name="one", namespace=namespace), data={"mine": b"1"})
    await client.create(theirs)
    async with operator.running(client, namespaces=[namespace], webhook_bind="0"):
        await client.create(make(namespace))
        failed = await in_state(client, namespace, "Failed")
        assert failed.status.reason == 'Secret "one" already exists and is not managed by Password'
        assert (await client.get(core.Secret, "one", namespace)).data == {"mine": b"1"}
        await client.delete(core.Secret, "one", namespace)
        done = await in_state(client, namespace, "InSync")  # retried, with backoff
        assert done.status.reason is None


async def test_password_appears_in_no_log_event_or_status(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with operator.running(client, namespaces=[namespace], webhook_bind="0") as running:
        await client.create(make(namespace))
        await in_state(client, namespace, "InSync")
        word = await secret_of(client, namespace)
        await client.patch(Password, "one", MergePatch({"metadata": {"labels": {"again": "yes"}}}), namespace)
        await client.wait_for(Password, "one", lambda found: "again" in found.metadata.labels, namespace)
        inspected = str(running.inspect(Password, "one", namespace))
    everywhere = [msgspec.json.encode(await client.list(kind, namespace)) for kind in (Password, core.Event)]
    encoded = (await client.get(core.Secret, "one", namespace)).metadata.origin
    assert encoded is not None
    base64 = msgspec.json.decode(encoded.raw)["data"]["password"]
    for text in (caplog.text, inspected, *(one.decode() for one in everywhere)):
        assert word not in text
        assert base64 not in text


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"length": 7}, "spec.length"),
        ({"digit": -1}, "spec.digit"),
        ({"symbol": -1}, "spec.symbol"),
        ({"length": "long"}, "spec.length"),
        ({"length": 40, "digit": 11, "disallowRepeat": True}, "spec.digit"),  # the CEL rule
    ],
)
async def test_schema_rejects_invalid_numbers(client: Client, namespace: str, spec: dict[str, Any], field: str) -> None:
    await install(client, Password)
    body = {"apiVersion": "secret.example.com/v1alpha1", "kind": "Password", "metadata": {"name": "bad"}, "spec": spec}
    with pytest.raises(ApiError) as error:
        await client.request("POST", f"/apis/secret.example.com/v1alpha1/namespaces/{namespace}/passwords", body=body)
    assert field in str(error.value)


async def test_schema_has_defaults_and_columns(client: Client, namespace: str) -> None:
    await install(client, Password)
    path = f"/apis/secret.example.com/v1alpha1/namespaces/{namespace}/passwords"
    body = {"apiVersion": "secret.example.com/v1alpha1", "kind": "Password", "metadata": {"name": "one"}}
    made = msgspec.json.decode(await client.request("POST", path, body=body))
    assert made["spec"] == {"length": 20, "digit": 10, "symbol": 10}
    crd = await client.get(apiextensions.CustomResourceDefinition, "passwords.secret.example.com")
    columns = {column.name: column.json_path for column in crd.spec.versions[0].additional_printer_columns or []}
    assert columns == {"State": ".status.state", "Age": ".metadata.creationTimestamp"}


async def test_webhooks_validate_and_set_defaults(client: Client, namespace: str) -> None:
    """The API server calls the webhooks over TLS."""
    async with operator.running(client, namespaces=[namespace]):
        with pytest.raises(ApiError, match=MESSAGE) as error:
            await client.create(make(namespace, length=19))
        assert "spec.length" in str(error.value)
        made = await client.create(make(namespace))
        assert (made.spec.case_sensitive, made.spec.disallow_repeat) == (False, False)
        with pytest.raises(ApiError, match=MESSAGE):
            await client.patch(Password, "one", MergePatch({"spec": {"digit": 11}}), namespace)
        await in_state(client, namespace, "InSync")


async def test_reports_an_impossible_password_as_failed(client: Client, namespace: str) -> None:
    async with operator.running(client, namespaces=[namespace], webhook_bind="0"):
        await client.create(make(namespace, length=8))
        assert (await in_state(client, namespace, "Failed")).status.reason == MESSAGE
        with pytest.raises(NotFound):
            await client.get(core.Secret, "one", namespace)
        await client.patch(Password, "one", MergePatch({"spec": {"length": 20}}), namespace)
        await in_state(client, namespace, "InSync")


# Without a cluster


@pytest.mark.clusters("embedded")
@pytest.mark.parametrize("case_sensitive", [False, True])
def test_generates_the_given_composition(case_sensitive: bool) -> None:
    spec = PasswordSpec(length=60, digit=10, symbol=20, case_sensitive=case_sensitive, disallow_repeat=case_sensitive)
    words = {generate(spec) for _ in range(20)}
    assert len(words) == 20
    for word in words:
        assert sum(one in string.digits for one in word) == 10
        assert sum(one in SYMBOLS for one in word) == 20
        assert case_sensitive or word == word.lower()
        assert not case_sensitive or len(set(word)) == 60


@pytest.mark.clusters("embedded")
def test_may_only_read_and_create_secrets() -> None:
    allowed = {one.verb for one in operator.permissions() if one.resource == "secrets" and one.where == WATCHED}
    assert allowed == {"get", "list", "watch", "create"}
