"""The fixture `cluster`: the same test on the embedded cluster and on the real one."""

from __future__ import annotations

import pytest

from kubewright.testing import ControlPlane

TEST = """
import pytest
from kubewright.api import ObjectMeta
from kubewright.api.core.v1 import ConfigMap
from kubewright.client import Client, load_config

async def test_a_map_comes_back(cluster, cluster_namespace):
    client = cluster.client()
    await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=cluster_namespace), data={"k": "v"}))
    await cluster.serve()
    async with Client(load_config(kubeconfig=cluster.kubeconfig())) as other:
        assert (await other.get(ConfigMap, "a", cluster_namespace)).data == {"k": "v"}

async def test_nothing_is_left_of_another_test(cluster, cluster_namespace):
    found = await cluster.client().list(ConfigMap, cluster_namespace)
    assert [each.metadata.name for each in found if each.metadata.name == "a"] == []
"""
VIRTUAL = """
import pytest
from kubewright.api import ObjectMeta
from kubewright.api.core.v1 import ConfigMap
from kubewright.clock import VirtualClock

@pytest.fixture
def cluster_clock():
    return VirtualClock()

async def test_time_is_the_tests_own(cluster, cluster_clock):
    await cluster_clock.advance(3600)
    made = await cluster.client().create(ConfigMap(metadata=ObjectMeta(name="a")))
    assert made.metadata.creation_timestamp == cluster_clock.now()
"""
BOTH = """
import pytest
from kubewright.api import ObjectMeta
from kubewright.api.core.v1 import ConfigMap
from kubewright.cluster import Cluster

pytestmark = pytest.mark.clusters

async def test_everything_is_of_one_cluster(cluster, cluster_kind, client, namespace):
    await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
    [found] = await cluster.client().list(ConfigMap, namespace)
    assert found.metadata.name == "a"
    assert isinstance(cluster, Cluster) == (cluster_kind == "embedded")

async def test_of_the_real_one(control_plane, client, namespace):
    assert control_plane.request("GET", f"/api/v1/namespaces/{namespace}")

@pytest.mark.clusters("embedded")
async def test_of_the_embedded_one(cluster_kind, client):
    assert cluster_kind == "embedded"

def test_of_none(): ...
"""

PLAIN = """
from kubewright.api import core

async def test_of_the_chosen_cluster(client, namespace, cluster):
    async with cluster.client() as other:
        assert namespace in [each.metadata.name for each in await other.list(core.Namespace)]

async def test_of_the_real_one(client, namespace, control_plane):
    assert control_plane.request("GET", f"/api/v1/namespaces/{namespace}")
"""


def write(pytester: pytest.Pytester, **files: str) -> None:
    pytester.makepyfile(**files)
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    write(pytester, test_plain=TEST, test_virtual=VIRTUAL)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


@pytest.mark.promise("The embedded cluster", "The same test runs on the embedded and on the real cluster.")
def test_embedded_cluster_is_the_default_and_needs_no_control_plane(pytester: pytest.Pytester) -> None:
    run(pytester, "-m", "not control_plane").assert_outcomes(passed=3)


@pytest.mark.promise("The embedded cluster", "The same test runs on the embedded and on the real cluster.")
def test_same_tests_run_on_real_cluster_except_those_that_move_time(
    pytester: pytest.Pytester, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The inner run has its own home folder, without binaries.
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(control_plane.binaries))
    run(pytester, "--cluster=real", "-m", "control_plane").assert_outcomes(passed=2, skipped=1)


def test_client_and_namespace_belong_to_the_named_cluster(
    pytester: pytest.Pytester, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(control_plane.binaries))
    write(pytester, test_unmarked=PLAIN)
    for options, passed in (
        (["--cluster=embedded"], 2),
        (["--cluster=real"], 2),
        (["--cluster=embedded", "-m", "not control_plane"], 1),
        (["-m", "not control_plane"], 0),
    ):
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)
        result.assert_outcomes(passed=passed, deselected=2 - passed)


@pytest.mark.parametrize("given", ["'embeded'", "kind='real'"])
def test_rejects_typo_in_marker(pytester: pytest.Pytester, given: str) -> None:
    pytester.makepyfile(
        f"import pytest\n\n@pytest.mark.clusters({given})\ndef test_it(cluster_kind):\n    assert False\n"
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")
    assert result.ret != 0
    assert f"the marker clusters takes names of clusters, 'embedded' and 'real', not {given}" in result.stdout.str()


def names(result: pytest.RunResult, outcome: str = "") -> list[str]:
    return sorted(line.partition("::")[2].split()[0] for line in result.outlines if "::" in line and outcome in line)


@pytest.mark.promise("The embedded cluster", "The same test runs on the embedded and on the real cluster.")
def test_marked_tests_run_on_both_clusters_or_the_named_one(
    pytester: pytest.Pytester, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(control_plane.binaries))
    write(pytester, test_both=BOTH)
    everything = names(pytester.runpytest_subprocess("-v", "-p", "no:cacheprovider"), "PASSED")
    assert everything == [
        "test_everything_is_of_one_cluster[embedded]",
        "test_everything_is_of_one_cluster[real]",
        "test_of_none",
        "test_of_the_embedded_one[embedded]",
        "test_of_the_real_one[real]",
    ]
    embedded = [name for name in everything if "[real]" not in name]
    for options in (["--cluster=embedded"], ["-m", "not control_plane"]):
        chosen = pytester.runpytest_subprocess("--collect-only", "-q", "-p", "no:cacheprovider", *options)
        assert [name for name in names(chosen) if "NOTSET" not in name] == embedded
