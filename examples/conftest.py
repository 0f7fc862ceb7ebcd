"""The real control plane for the tests of all examples; each also runs on an embedded cluster, as it says itself.

It has kube-controller-manager: the real garbage collector and Deployment controller are at work. A project of your own
needs none of this: `pytest --control-plane-controllers` starts one, too.
"""

from __future__ import annotations

from collections.abc import Iterator
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
