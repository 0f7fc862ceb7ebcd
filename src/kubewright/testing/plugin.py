"""The pytest plugin: a real control plane for the test run, a namespace and a client for each test.

`control_plane`: one `ControlPlane` for the whole run, started when the first test asks for it. Without
kube-controller-manager, whose controllers would act on the objects of every test: tests that need them are better off
with a `ControlPlane(controllers=True)` of their own, as a fixture of their module or folder with the same name.
`namespace`: the name of a namespace that only this test uses; deleted afterwards, without waiting for it.
`fake_node`: a `FakeNode` for that namespace.
`client`: an async `kubewright.client.Client` of an administrator, closed after the test (needs pytest-asyncio).

Tests that use any of them carry the marker `control_plane`, so `-m "not control_plane"` leaves them out. The options
`--control-plane-logs`, `--control-plane-controllers` and `--kubewright-rbac` are described by `pytest --help`.

This module is loaded with every pytest run where Kubewright is installed, so it imports nothing heavy.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kubewright.client import Client
    from kubewright.testing import ControlPlane, FakeNode

try:
    # It is a plugin itself, so when it is there it is imported already.
    from pytest_asyncio import fixture as _async_fixture
except ImportError:  # pragma: no cover - our own tests have it
    _async_fixture = pytest.fixture  # type: ignore[assignment]  # the same calls, less meaning

_MARKER = "control_plane"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add this plugin's options."""
    group = parser.getgroup("kubewright", "Kubewright's control plane for tests")
    group.addoption(
        "--control-plane-logs",
        type=Path,
        metavar="FOLDER",
        help="keep the logs of etcd, kube-apiserver and kube-controller-manager in this folder",
    )
    group.addoption(
        "--kubewright-rbac",
        action="store_true",
        help="note the calls of all operators that run in the tests, and fail when their roles lack one or list what "
        "nothing used",
    )
    group.addoption(
        "--kubewright-rbac-operator",
        action="append",
        default=[],
        metavar="NAME",
        help="with --kubewright-rbac: look only at operators of this name; may be given several times",
    )
    group.addoption(
        "--control-plane-controllers",
        action="store_true",
        help="start kube-controller-manager with the control plane; pods then need a service account",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and listen to operators when asked to."""
    config.addinivalue_line("markers", f"{_MARKER}: needs the real control plane, which is provided on first use")
    if config.getoption("--kubewright-rbac"):
        from kubewright.testing._rbac_plugin import RbacPlugin

        config.pluginmanager.register(RbacPlugin(config.getoption("--kubewright-rbac-operator")), "kubewright-rbac")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that will use the control plane."""
    for item in items:
        if _MARKER in getattr(item, "fixturenames", ()):
            item.add_marker(_MARKER)


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """The control plane of this test run."""
    from kubewright.testing import ControlPlane, setup_binaries

    # Building the binaries takes minutes, once per machine: say so, although pytest captures what tests print.
    capture = request.config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        with capture.global_and_fixture_disabled():
            binaries = setup_binaries()
    else:
        binaries = setup_binaries()
    with ControlPlane(
        binaries=binaries,
        controllers=request.config.getoption("--control-plane-controllers"),
        log_directory=request.config.getoption("--control-plane-logs"),
    ) as plane:
        yield plane


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """The name of a new namespace. Without the controllers its deletion does not end, which disturbs nobody."""
    name = f"test-{secrets.token_hex(5)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    control_plane.request("POST", "/api/v1/namespaces", body)
    yield name
    control_plane.request("DELETE", f"/api/v1/namespaces/{name}")


@_async_fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    """A client who may do everything."""
    from kubewright.client import Client

    async with Client.connect(kubeconfig=control_plane.kubeconfig) as connected:
        yield connected


@_async_fixture
async def fake_node(client: Client, namespace: str) -> AsyncIterator[FakeNode]:
    """A node for the pods of this test's namespace; they are Running and Ready at once unless its plan is changed."""
    from kubewright.testing import FakeNode

    async with FakeNode(client, name=f"node-{namespace}", namespace=namespace) as node:
        yield node
