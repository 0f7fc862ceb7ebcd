"""Clients of an operator's pages, and the operator of these tests."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

import msgspec

from kubewright.api import ObjectMeta, core, rbac
from kubewright.client import Client
from kubewright.controller import Context
from kubewright.operator import Operator

GROUP = "rbac.authorization.k8s.io"


def made(namespace: str) -> Operator:
    operator = Operator(f"page-{namespace}", namespaces=[namespace], leader_elect=False)

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    return operator


@dataclass
class Answer:
    status: int
    headers: str
    body: str


async def fetch(
    port: int, path: str, token: str | None = None, *, tls: bool = True, trusted: bytes | None = None
) -> Answer:
    """A page of an operator; over TLS without verification, unless a certificate is trusted."""
    context = None
    if tls:
        context = ssl.create_default_context(cadata=None if trusted is None else trusted.decode())
        if trusted is None:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
    name = "localhost" if tls else None
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    credentials = "" if token is None else f"Authorization: Bearer {token}\r\n"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{credentials}Connection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return Answer(int(head.split()[1]), head, body)


async def account(client: Client, namespace: str, name: str) -> str:
    """A new service account; its token."""
    await client.create(core.ServiceAccount(metadata=ObjectMeta(name=name, namespace=namespace)))
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    answer = await client.request("POST", path, body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"})
    return str(msgspec.json.decode(answer)["status"]["token"])


async def grant(client: Client, namespace: str, account: str, *rules: rbac.PolicyRule) -> None:
    name = f"{account}-{namespace}"
    await client.create(rbac.ClusterRole(metadata=ObjectMeta(name=name), rules=list(rules)))
    subject = rbac.Subject(kind="ServiceAccount", name=account, namespace=namespace)
    role = rbac.RoleRef(api_group=GROUP, kind="ClusterRole", name=name)
    await client.create(rbac.ClusterRoleBinding(metadata=ObjectMeta(name=name), role_ref=role, subjects=[subject]))


def may_get(path: str) -> rbac.PolicyRule:
    return rbac.PolicyRule(non_resource_urls=[path], verbs=["get"])
