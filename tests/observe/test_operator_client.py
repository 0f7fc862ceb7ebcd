"""Clients of the debug pages. They verify the operator before they send it a token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubewright.api import ObjectMeta, core, rbac
from kubewright.certificates import CertificateAuthority
from kubewright.cli import run
from kubewright.client import Client, ClientConfig, Credentials
from kubewright.cluster import Cluster
from kubewright.console.operators import OperatorUnavailable, Remote
from kubewright.controller import Context
from kubewright.observe import OperatorAddress, OperatorClient, OperatorError, OperatorTrust, tokens_of
from kubewright.operator import Operator
from kubewright.operator.endpoints import HttpServer, Page, PageRequest
from tests.patience import until


@dataclass(frozen=True)
class Served:
    """An operator with secure debug pages, and the token of an account that may read them, and of one that may not."""

    port: int
    folder: Path
    reader: Path
    stranger: Path
    fingerprint: str
    """As the operator has logged it."""

    @property
    def address(self) -> str:
        return f"https://localhost:{self.port}"

    @property
    def ca(self) -> str:
        return str(self.folder / "ca.crt")


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"controllers": False, "rbac": True}


@pytest.fixture
def self_signed() -> bool:
    return False


@pytest.fixture
async def served(
    cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture, self_signed: bool
) -> AsyncIterator[Served]:
    caplog.set_level(logging.INFO, "kubewright.operator")
    authority = CertificateAuthority()
    pair = authority.issue("metrics", hosts=["localhost"])
    for name, content in (("tls.crt", pair.certificate), ("tls.key", pair.key), ("ca.crt", authority.pair.certificate)):
        (tmp_path / name).write_bytes(content)
    operator = Operator("curious", metrics_bind="127.0.0.1:0", metrics_secure=True, debug_pages=True)
    if not self_signed:
        operator.settings = operator.settings_with(metrics_cert_path=tmp_path)

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    client = cluster.client()
    for name in ("reader", "stranger"):
        (tmp_path / name).write_text(f"{await token(client, name)}\n")
    await client.create(
        rbac.ClusterRole(
            metadata=ObjectMeta(name="debug"),
            rules=[rbac.PolicyRule(non_resource_urls=["/debug/kubewright"], verbs=["get"])],
        )
    )
    await client.create(
        rbac.ClusterRoleBinding(
            metadata=ObjectMeta(name="debug"),
            role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="debug"),
            subjects=[rbac.Subject(kind="ServiceAccount", name="reader", namespace="default")],
        )
    )
    async with operator.running(client) as running:
        made = await client.create(core.ConfigMap(metadata=ObjectMeta(name="one", namespace="default")))

        async def reconciled() -> bool:
            return bool(running.inspect(core.ConfigMap, made.metadata.name, "default").results)

        await until(reconciled)
        logged = [line.partition("fingerprint ")[2].partition(",")[0] for line in caplog.messages]
        fingerprint = next(filter(None, logged), "")
        yield Served(running.servers[0].port, tmp_path, tmp_path / "reader", tmp_path / "stranger", fingerprint)


async def token(client: Client, account: str) -> str:
    await client.create(core.ServiceAccount(metadata=ObjectMeta(name=account, namespace="default")))
    path = f"/api/v1/namespaces/default/serviceaccounts/{account}/token"
    answer = await client.request("POST", path, body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"})
    return str(msgspec.json.decode(answer)["status"]["token"])


async def why(served: Served, *arguments: str) -> int:
    return await asyncio.to_thread(run, ["why", "ConfigMap/one", "--address", served.address, *arguments])


@pytest.mark.promise(
    "Watching an operator",
    "`why` and the console verify an operator's certificate, and send a token to nothing else.",
)
async def test_why_verifies_ca_and_sends_token(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert await why(served, "--ca-file", served.ca, "--token-file", str(served.reader)) == 0
    assert "ConfigMap default/one, controller configmap" in capsys.readouterr().out


async def test_why_sends_token_of_kubeconfig(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    kubeconfig = served.folder / "config"
    user = {"name": "me", "user": {"token": served.reader.read_text().strip()}}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [user],
    }
    kubeconfig.write_bytes(msgspec.json.encode(content))
    assert await why(served, "--ca-file", served.ca, "--kubeconfig", str(kubeconfig)) == 0
    user["user"] = {"username": "me", "password": "secret"}
    kubeconfig.write_bytes(msgspec.json.encode(content))
    assert await why(served, "--ca-file", served.ca, "--kubeconfig", str(kubeconfig)) == 1
    assert "has no token, and operators accept only tokens" in capsys.readouterr().err


async def test_why_shows_rejection_by_operator(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert await why(served, "--ca-file", served.ca, "--token-file", str(served.stranger)) == 1
    assert "system:serviceaccount:default:stranger may not get /debug/kubewright" in capsys.readouterr().err


@pytest.mark.promise(
    "Watching an operator",
    "`why` and the console verify an operator's certificate, and send a token to nothing else.",
)
async def test_why_rejects_certificate_of_unknown_ca(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert await why(served, "--token-file", str(served.reader)) == 1
    assert f"the certificate of {served.address} cannot be verified" in capsys.readouterr().err
    other = served.folder / "other.crt"
    other.write_bytes(CertificateAuthority().pair.certificate)
    assert await why(served, "--ca-file", str(other), "--token-file", str(served.reader)) == 1
    assert "pass its CA file, or the fingerprint" in capsys.readouterr().err


@pytest.mark.promise(
    "Watching an operator",
    "`why` and the console verify an operator's certificate, and send a token to nothing else.",
)
@pytest.mark.parametrize("self_signed", [True])
async def test_why_verifies_fingerprint_of_self_signed_certificate(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await why(served, "--fingerprint", served.fingerprint.upper(), "--token-file", str(served.reader)) == 0
    assert await why(served, "--fingerprint", "0" * 64, "--token-file", str(served.reader)) == 1
    assert "has another fingerprint" in capsys.readouterr().err
    assert await why(served, "--fingerprint", "12:34", "--token-file", str(served.reader)) == 2
    assert "expected a SHA-256 fingerprint" in capsys.readouterr().err


@pytest.mark.promise(
    "Watching an operator",
    "`why` and the console verify an operator's certificate, and send a token to nothing else.",
)
async def test_console_verifies_and_authenticates(served: Served) -> None:
    credentials = Credentials(token=served.reader.read_text().strip())
    remote = Remote(served.address, credentials=credentials, trust=OperatorTrust(ca_file=served.ca))
    try:
        assert (await remote.report()).name == "curious"
    finally:
        await remote.close()
    unverified = Remote(served.address, credentials=credentials)
    with pytest.raises(OperatorUnavailable, match="cannot be verified"):
        await unverified.report()
    await unverified.close()


@pytest.mark.promise(
    "Watching an operator",
    "`why` and the console verify an operator's certificate, and send a token to nothing else.",
)
async def test_sends_no_token_over_plain_http() -> None:
    seen: list[PageRequest] = []

    async def page(asked: PageRequest) -> Page:
        seen.append(asked)
        return Page(b"{}")

    async with HttpServer("127.0.0.1:0", {"/debug/kubewright": page}) as server:
        client = OperatorClient(OperatorAddress.parse(str(server.port)), Credentials(token="s3cret"))
        assert await client.get("") == b"{}"
        await client.close()
    assert "Authorization" not in seen[0].headers


def test_omits_password_and_client_certificate() -> None:
    given = Credentials(token="t", username="me", password="secret", certificate_file="c", key_file="k")
    assert tokens_of(ClientConfig(server="https://here", credentials=given)) == Credentials(token="t")
    with pytest.raises(OperatorError, match="has no token"):
        tokens_of(ClientConfig(server="https://here", credentials=Credentials(username="me", password="secret")))
