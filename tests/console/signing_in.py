"""Accounts with few permissions, and their sign-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from playwright.async_api import Page

from kubewright.api import ObjectMeta, core, rbac
from kubewright.client import Client

__all__ = ["sign_in", "token_of"]


async def token_of(admin: Client, namespace: str, resources: Mapping[str, Sequence[str]], name: str = "guest") -> str:
    """Returns the token of an account that may only read these resources, by API group, in one namespace."""
    about = ObjectMeta(name=name, namespace=namespace)
    await admin.create(core.ServiceAccount(metadata=about))
    rules = [
        rbac.PolicyRule(api_groups=[group], resources=[*plurals], verbs=["get", "list", "watch"])
        for group, plurals in resources.items()
    ]
    await admin.create(rbac.Role(metadata=about, rules=rules))
    await admin.create(
        rbac.RoleBinding(
            metadata=about,
            role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=name),
            subjects=[rbac.Subject(kind="ServiceAccount", name=name, namespace=namespace)],
        )
    )
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = msgspec.json.decode(await admin.request("POST", path, body=body))
    found: str = answer["status"]["token"]
    return found


async def sign_in(page: Page, address: str, token: str) -> None:
    """Opens an address and signs in."""
    await page.goto(address)
    await page.get_by_label("Bearer token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
