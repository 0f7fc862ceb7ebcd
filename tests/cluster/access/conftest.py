"""A cluster with RBAC, and requests of its users."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.access import user_named
from tests.cluster.conftest import Raw

RBAC = "/apis/rbac.authorization.k8s.io/v1"
As = Callable[..., Raw]


@pytest_asyncio.fixture
async def guarded(clock: VirtualClock) -> AsyncIterator[Cluster]:
    async with Cluster(clock=clock, seed=1, rbac=True) as cluster:
        yield cluster


@pytest.fixture
def admin(guarded: Cluster) -> Raw:
    return Raw(guarded.transport())


@pytest.fixture
def requests_as(guarded: Cluster) -> As:
    """Returns a function that sends raw requests: `requests_as("jane", "staff")` acts as that user in those groups."""

    def made(name: str, *groups: str) -> Raw:
        return Raw(guarded.transport(user_named(name, groups)))

    return made


async def grant(admin: Raw, user: str, *rules: dict[str, list[str]], namespace: str = "default") -> None:
    """Grants permissions to a user in a namespace."""
    name = user.replace(":", "-")
    role = {"metadata": {"name": name}, "rules": list(rules)}
    subject = {"kind": "User", "name": user}
    binding = {"metadata": {"name": name}, "roleRef": {"kind": "Role", "name": name}, "subjects": [subject]}
    for plural, body in (("roles", role), ("rolebindings", binding)):
        made = await admin("POST", f"{RBAC}/namespaces/{namespace}/{plural}", body)
        assert made.status == 201, made.body
