"""The control planes that are disturbed, the namespaces in them, and the toys' definition."""

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
    """A control plane to hurt: its server is killed, and made to forget. Tests leave it working."""
    with ControlPlane() as own:
        yield own


@pytest.fixture
async def admin(plane: ControlPlane) -> AsyncIterator[Client]:
    """The way to that control plane past everything that is in the operator's way. It knows toys."""
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
    """What the operator was called for. Whatever else happens: no key twice at once, nothing after the clean-up."""
    kept = Journal()
    yield kept
    assert kept.twice_at_once == []
    assert kept.after_its_end == []
