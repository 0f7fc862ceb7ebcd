"""A kind with every type of field, and users of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import Page

from kubewright.api import ObjectMeta, Untyped, from_dict, rbac
from kubewright.api.apiextensions.v1 import CustomResourceDefinition
from kubewright.client import Client, NotFound
from kubewright.console import Console, Viewer
from tests.console.forms.kinds import EVERYTHING, GROUP, definition
from tests.console.gadgets import AnyCluster
from tests.patience import until


@pytest.fixture
def cluster_settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A cluster that enforces roles."""
    return {"controllers": request.config.getoption("--control-plane-controllers"), "rbac": True}


@pytest.fixture
async def client(cluster: AnyCluster) -> AsyncIterator[Client]:
    """An administrator."""
    async with cluster.client(field_manager="kubectl-create") as made:
        yield made


async def defined(client: Client, plural: str, kind: str, schema: dict[str, Any]) -> type[Untyped]:
    """Serves a kind of the tests' group."""
    name = f"{plural}.{GROUP}"
    if await client.find(CustomResourceDefinition, name) is None:
        await client.create(from_dict(CustomResourceDefinition, definition(plural, kind, schema)))
    await client.wait_for(CustomResourceDefinition, name, _established)
    while True:
        try:
            made = await client.kind(f"{GROUP}/v1", kind)
            await client.list(made)
            return made
        except NotFound:  # known from the definition, but not from discovery yet
            await client.discovery.resources(refresh=True)


def _established(crd: CustomResourceDefinition) -> bool:
    return any(one.type == "Established" and one.status == "True" for one in (crd.status.conditions or []))


@pytest.fixture
async def everything(client: Client, console: Console) -> type[Untyped]:
    """The kind with every type of field."""
    made = await defined(client, "everythings", "Everything", EVERYTHING)
    await known(console, "everythings")
    return made


async def known(console: Console, plural: str) -> None:
    """Waits until the console knows a kind."""
    await until(lambda: console.kind(f"{GROUP}/{plural}"))


SignIn = Callable[..., Awaitable[Page]]


@pytest.fixture
async def signed_in_as(
    cluster: AnyCluster, client: Client, console: Console, console_url: str, open_page: Callable[..., Awaitable[Page]]
) -> AsyncIterator[SignIn]:
    """Opens a page for a user who may only use these verbs on the kinds of the tests' group."""
    made: list[tuple[type[Any], str]] = []
    clients: list[Client] = []

    async def sign_in(user: str, verbs: list[str]) -> Page:
        rule = rbac.PolicyRule(api_groups=[GROUP], resources=["*"], verbs=verbs)
        await client.create(rbac.ClusterRole(metadata=ObjectMeta(name=user), rules=[rule]))
        reference = rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=user)
        subject = rbac.Subject(kind="User", name=user, api_group="rbac.authorization.k8s.io")
        await client.create(
            rbac.ClusterRoleBinding(metadata=ObjectMeta(name=user), role_ref=reference, subjects=[subject])
        )
        made.extend([(rbac.ClusterRole, user), (rbac.ClusterRoleBinding, user)])
        limited = cluster.client_as(user)
        clients.append(limited)
        viewer = Viewer(user, limited, namespaces=console.all_namespaces)
        _, secret = console.sessions.begin(viewer)
        page = await open_page(signed_in=False)
        port = console_url.rpartition(":")[2]
        await page.context.add_cookies([{"name": f"kubewright-{port}", "value": secret, "url": console_url}])
        return page

    yield sign_in
    for kind, name in made:
        await client.delete(kind, name)
    for limited in clients:
        await limited.close()
