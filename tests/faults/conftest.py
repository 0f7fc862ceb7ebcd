"""Control planes for fault tests, with namespaces and the definition of toys."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from kubewright.api import core, meta
from kubewright.client import Client
from kubewright.crd import install
from kubewright.testing import ControlPlane
from tests.faults.toys import Journal, Toy


@pytest.fixture(scope="package")
def plane() -> Iterator[ControlPlane]:
    """A control plane whose server tests kill, and whose history they expire. Tests leave it working."""
    with ControlPlane() as own:
        yield own


@pytest.fixture
async def admin(plane: ControlPlane) -> AsyncIterator[Client]:
    """A direct client of that control plane, without the faults of the operator's connection."""
    async with Client.connect(kubeconfig=plane.kubeconfig) as client:
        await install(client, Toy)
        yield client


@pytest.fixture
async def room(admin: Client) -> str:
    """A namespace of that control plane for one test."""
    name = f"room-{secrets.token_hex(5)}"
    await admin.create(core.Namespace(metadata=meta.ObjectMeta(name=name)))
    return name


@pytest.fixture
def journal() -> Iterator[Journal]:
    """Records the calls of reconcilers. Checks that no key runs twice concurrently, and none after its cleanup."""
    kept = Journal()
    yield kept
    assert kept.twice_at_once == []
    assert kept.after_its_end == []
