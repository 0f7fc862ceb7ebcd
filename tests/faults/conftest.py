"""The control planes that are disturbed, the namespaces in them, and the toys' definition."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kubewright.api import core, meta
from kubewright.client import Client
from kubewright.crd import install
from kubewright.testing import ControlPlane
from tests.faults.toys import Journal, Toy

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def minute(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str] | None]:
    """A program that waits for a minute, for a test that comes last. Not started when that test was not asked for."""
    if not any(item.path.name == "test_stall.py" for item in request.session.items):
        yield None
        return
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.paused_minute"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with program:
        yield program
        program.kill()


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
