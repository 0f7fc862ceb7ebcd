"""The real control plane for the tests of all examples; each also runs on an embedded cluster, as it says itself.

It has kube-controller-manager: the real garbage collector and Deployment controller are at work. A project of your own
needs none of this: `pytest --control-plane-controllers` starts one, too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from foo import Foo
from memcached import Memcached
from network import Network
from password import Password

from kubewright.client import BlockingClient
from kubewright.crd import crds_of
from kubewright.testing import ControlPlane


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """The embedded cluster runs controllers."""
    return {"controllers": True}


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """The control plane of these tests, with controllers."""
    with ControlPlane(log_directory=request.config.getoption("--control-plane-logs")) as plane:
        with BlockingClient.connect(kubeconfig=plane.kubeconfig) as client:
            for crd in crds_of(Foo, Memcached, Network, Password):
                client.create(crd)
        # Last, because the garbage collector looks for new kinds only every 30 seconds.
        plane.ensure_controllers()
        yield plane


@pytest.fixture
def kubectl(control_plane: ControlPlane, tmp_path: Path) -> Callable[..., Awaitable[str]]:
    """Runs kubectl. Returns its output; with `fails`, including stderr."""

    async def run(*arguments: str, fails: bool = False) -> str:
        process = await asyncio.create_subprocess_exec(
            str(control_plane.binaries / "kubectl"),
            *arguments,
            env={**os.environ, "KUBECONFIG": str(control_plane.kubeconfig), "HOME": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        printed, errors = (stream.decode() for stream in await process.communicate())
        assert (process.returncode != 0) == fails, printed + errors
        return printed + errors if fails else printed

    return run
