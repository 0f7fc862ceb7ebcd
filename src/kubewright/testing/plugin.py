"""The pytest plugin: a real control plane for the test run, a namespace and a client for each test.

`control_plane`: one `ControlPlane` for the whole run, started when the first test uses it. It has no
kube-controller-manager, whose controllers would act on the objects of every test. Tests that need controllers define a
fixture of the same name with their own `ControlPlane(controllers=True)`, for their module or folder.
`namespace`: the name of a namespace that only this test uses; deleted afterwards, without waiting for it.
`fake_node`: a `FakeNode` for that namespace.
`client`: an async `kubewright.client.Client` of an administrator, closed after the test (needs pytest-asyncio).
With `--cluster=embedded`, these three use an embedded cluster, unless the test uses `control_plane` too.

`cluster`: with `--cluster=embedded`, the default, a new embedded cluster for each test; with `--cluster=real` the
control plane of the run. Both have `client()`, `client_as()`, `serve()` and `kubeconfig()`, so the same test runs on
either. With `--cluster-rbac`, the embedded cluster enforces RBAC too. `cluster_namespace` is a namespace in it that
only this test uses. `cluster_clock` is the clock of the embedded cluster: a module that overrides it with a fixture
that returns a `VirtualClock` controls time, and is skipped on the real cluster. `cluster_settings` has further
arguments of the embedded cluster, such as `{"workloads": True}`; a module may override it.

The marker `clusters` runs a test on both clusters: `pytestmark = pytest.mark.clusters` runs each test of a module as
`test_x[embedded]` and `test_x[real]`; with `--cluster` only on that one. `client`, `namespace` and `fake_node` then use
that cluster too, and the embedded one has no controllers, like the real one of the run. `pytest.mark.clusters("real")`
limits a test of such a module to the real one; so does the use of `control_plane`.

`explored`: the report of an exploration of the operator that the marker `explore` names:
`@pytest.mark.explore(minutes=1)` explores the operator that the test's module imports, with the samples of its project;
`@pytest.mark.explore("foo.py", samples=["example-foo.yaml"])` names both, relative to the test's file.

Tests that use the real control plane have the marker `control_plane`, so `-m "not control_plane"` deselects them. See
`pytest --help` for the options `--control-plane-logs`, `--control-plane-controllers` and `--kubewright-rbac`.

This module is loaded with every pytest run where Kubewright is installed, so it imports nothing heavy.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kubewright.client import Client
    from kubewright.clock import Clock
    from kubewright.cluster import Cluster
    from kubewright.explore import Report
    from kubewright.operator import Operator
    from kubewright.testing import ControlPlane, FakeNode, RealCluster

try:
    # It is a plugin too, so it is already imported if it is installed.
    from pytest_asyncio import fixture as _async_fixture
except ImportError:  # pragma: no cover - our own tests have it
    _async_fixture = pytest.fixture  # type: ignore[assignment]  # the same signature, without async support

_MARKER = "control_plane"
_CLUSTERS = "clusters"
_EXPLORE = "explore"
_KINDS = ("embedded", "real")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of this plugin."""
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
        help="record the API calls of all operators in the tests, and fail if their roles lack a permission or have "
        "an unused one",
    )
    group.addoption(
        "--kubewright-rbac-operator",
        action="append",
        default=[],
        metavar="NAME",
        help="with --kubewright-rbac: check only operators with this name; may be given several times",
    )
    group.addoption(
        "--cluster",
        choices=_KINDS,
        help="the cluster of the fixture `cluster`: an embedded one for each test (default), or the real control plane "
        "of the run. Without this option, `client` and `namespace` use the real one, and tests with the marker "
        "`clusters` run on both",
    )
    group.addoption(
        "--cluster-rbac",
        action="store_true",
        help="enforce RBAC on embedded clusters, as on the real one",
    )
    group.addoption(
        "--explore-minutes",
        type=float,
        metavar="MINUTES",
        help="how long each test with the marker `explore` explores, instead of its own limit; 0 skips these tests",
    )
    group.addoption(
        "--control-plane-controllers",
        action="store_true",
        help="start kube-controller-manager with the control plane; pods then need a service account",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declares the markers, and registers the RBAC plugin if it is enabled."""
    config.addinivalue_line("markers", f"{_MARKER}: needs the real control plane, which is started on first use")
    config.addinivalue_line(
        "markers", f"{_CLUSTERS}(*names): runs on each of these clusters; default: embedded and real"
    )
    config.addinivalue_line(
        "markers", f"{_EXPLORE}(target, samples, minutes): explores an operator for the fixture `explored`"
    )
    if config.getoption("--kubewright-rbac"):
        if getattr(config.option, "numprocesses", None):
            raise pytest.UsageError("--kubewright-rbac needs all tests in one process: leave out -n")
        from kubewright.testing.rbac import RbacPlugin

        config.pluginmanager.register(RbacPlugin(config.getoption("--kubewright-rbac-operator")), "kubewright-rbac")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrizes a test with the marker `clusters` by cluster."""
    marker = metafunc.definition.get_closest_marker(_CLUSTERS)
    if marker is None or "cluster_kind" not in metafunc.fixturenames:
        return
    if marker.kwargs or not {*marker.args} <= {*_KINDS}:
        given = [*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())]
        text = f"the marker {_CLUSTERS} takes names of clusters, {' and '.join(map(repr, _KINDS))}"
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {text}, not {', '.join(given)}")
    selected = metafunc.config.getoption("--cluster")
    wanted = ("real",) if _MARKER in metafunc.fixturenames else marker.args or _KINDS
    metafunc.parametrize("cluster_kind", [kind for kind in wanted if selected in (None, kind)], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that use the control plane."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if _MARKER in fixtures or ("cluster_kind" in fixtures and _needs_control_plane(item, fixtures)):
            item.add_marker(_MARKER)


def _needs_control_plane(item: pytest.Item, fixtures: Sequence[str]) -> bool:
    if item.get_closest_marker(_CLUSTERS) is not None:
        return bool(item.callspec.params.get("cluster_kind") == "real")  # type: ignore[attr-defined]
    return item.config.getoption("--cluster") in ((None, "real") if "_home" in fixtures else ("real",))


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """The control plane of this test run."""
    from kubewright.testing import ControlPlane, setup_binaries

    # Building the binaries takes minutes, once per machine: show the progress, although pytest captures output.
    capture = request.config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        with capture.global_and_fixture_disabled():
            binaries = setup_binaries()
    else:
        binaries = setup_binaries()
    with ControlPlane(
        binaries=binaries,
        controllers=request.config.getoption("--control-plane-controllers"),
        log_directory=_log_directory(request.config),
    ) as plane:
        yield plane


def _log_directory(config: pytest.Config) -> Path | None:
    """Returns the folder of the logs: one for each worker of pytest-xdist, which has its own control plane."""
    folder: Path | None = config.getoption("--control-plane-logs")
    worker = getattr(config, "workerinput", {}).get("workerid")
    return folder / worker if folder and worker else folder


@pytest.fixture
def explored(request: pytest.FixtureRequest) -> Report:
    """The report of an exploration: `assert explored.findings == []`.

    The marker `explore` has the options of `kubewright.explore.run_exploration`. Default: the operator that the test's
    module imports, and the samples of its project. Skips the test if there is nothing to explore yet.
    """
    marker = request.node.get_closest_marker(_EXPLORE)
    if marker is None:
        raise pytest.UsageError("explored needs @pytest.mark.explore(minutes=1)")
    from kubewright.explore import run_exploration, target_of
    from kubewright.operator.loading import samples_beside

    options = dict(marker.kwargs)
    minutes = request.config.getoption("--explore-minutes")
    if minutes is not None:
        options["minutes"] = minutes
    if options.get("minutes") == 0:
        pytest.skip("--explore-minutes is 0")
    target = _explored(request, marker)
    samples = [request.path.parent / sample for sample in options.pop("samples", ())]
    where = target if isinstance(target, str) else target_of(target)
    samples = samples or samples_beside([where], request.config.rootpath)
    if not samples:
        pytest.skip("there are no samples to explore")
    return run_exploration(target, samples, **options)


def _explored(request: pytest.FixtureRequest, marker: pytest.Mark) -> Operator | str:
    """Returns the operator to explore, or its file or module."""
    if marker.args:
        target: str = marker.args[0]
        return str(request.path.parent / target) if ".py" in target else target
    from kubewright.operator import Operator

    found = {id(value): value for value in vars(request.module).values() if isinstance(value, Operator)}
    if len(found) != 1:
        raise pytest.UsageError(
            f"{request.path.name} imports {len(found)} operators: name the one to explore,"
            ' @pytest.mark.explore("operator.py")'
        )
    [operator] = found.values()
    if not operator.registrations():
        pytest.skip("the operator reconciles nothing yet")
    return operator


@pytest.fixture
def cluster_kind(request: pytest.FixtureRequest) -> str:
    """The cluster of `cluster`: "embedded" or "real"."""
    return getattr(request, "param", None) or request.config.getoption("--cluster") or "embedded"


@pytest.fixture
def _home(request: pytest.FixtureRequest, cluster_kind: str) -> Cluster | ControlPlane:
    """The cluster of `client` and `namespace`: the real control plane, unless a marker or an option selects another.

    A test that uses `control_plane` gets the real one.
    """
    chosen = request.node.get_closest_marker(_CLUSTERS) is not None or request.config.getoption("--cluster") is not None
    embedded = chosen and cluster_kind == "embedded" and _MARKER not in request.node.fixturenames
    found: Cluster | ControlPlane = request.getfixturevalue("cluster" if embedded else "control_plane")
    return found


@pytest.fixture
def namespace(request: pytest.FixtureRequest, _home: Cluster | ControlPlane) -> Iterator[str]:
    """The name of a new namespace. Without controllers its deletion does not complete, which affects no other test."""
    from kubewright.testing import ControlPlane

    if not isinstance(_home, ControlPlane):
        yield request.getfixturevalue("cluster_namespace")
        return
    name = f"test-{secrets.token_hex(5)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    _home.request("POST", "/api/v1/namespaces", body)
    yield name
    _home.request("DELETE", f"/api/v1/namespaces/{name}")


@_async_fixture
async def client(_home: Cluster | ControlPlane) -> AsyncIterator[Client]:
    """A client of an administrator."""
    from kubewright.client import Client
    from kubewright.testing import ControlPlane

    made = Client.connect(kubeconfig=_home.kubeconfig) if isinstance(_home, ControlPlane) else _home.client()
    async with made as connected:
        yield connected


@_async_fixture
async def fake_node(client: Client, namespace: str) -> AsyncIterator[FakeNode]:
    """A node for the pods of this test's namespace. By default they are immediately Running and Ready."""
    from kubewright.testing import FakeNode

    async with FakeNode(client, name=f"node-{namespace}", namespace=namespace) as node:
        yield node


@pytest.fixture
def cluster_clock() -> Clock:
    """The clock of the embedded cluster. Default: real time. A module may override this fixture."""
    from kubewright.clock import SystemClock

    return SystemClock()


@pytest.fixture
def cluster_settings(request: pytest.FixtureRequest) -> dict[str, Any]:  # Any, because they are arguments of Cluster
    """Further arguments of the embedded cluster. A module may override this fixture.

    For a test that runs on both clusters: no controllers, unless the real one has them.
    """
    if request.node.get_closest_marker(_CLUSTERS) is None:
        return {}
    return {"controllers": request.config.getoption("--control-plane-controllers")}


@_async_fixture
async def cluster(
    request: pytest.FixtureRequest, cluster_kind: str, cluster_clock: Clock, cluster_settings: dict[str, Any]
) -> AsyncIterator[Cluster | RealCluster]:
    """A cluster: a new embedded one, or the real one of this run."""
    from kubewright.clock import SystemClock

    if cluster_kind == "real":
        from kubewright.testing import RealCluster

        if not isinstance(cluster_clock, SystemClock):
            pytest.skip("virtual time needs the embedded cluster")
        real = RealCluster(request.getfixturevalue("control_plane"))
        yield real
        await real.stop()
    else:
        from kubewright.cluster import Cluster

        # So that a test sees the same uids and generated names in each run.
        settings = {"rbac": request.config.getoption("--cluster-rbac"), **cluster_settings}
        async with Cluster(clock=cluster_clock, seed=request.node.nodeid, **settings) as embedded:
            yield embedded


@_async_fixture
async def cluster_namespace(cluster: Cluster | RealCluster) -> AsyncIterator[str]:
    """The name of a namespace in `cluster` that only this test uses."""
    from kubewright.api import ObjectMeta
    from kubewright.api.core.v1 import Namespace

    name = f"test-{secrets.token_hex(5)}"
    async with cluster.client() as client:
        await client.create(Namespace(metadata=ObjectMeta(name=name)))
        yield name
        await client.delete(Namespace, name)
