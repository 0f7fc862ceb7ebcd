"""The pytest plugin, in pytest runs of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.api import core, meta
from kubewright.client import Client
from kubewright.testing import ControlPlane, plugin

# The mode that users have who did not choose one; without the other, pytest-asyncio warns.
ASYNC_MODE = ("-oasyncio_mode=strict", "-oasyncio_default_fixture_loop_scope=function")


async def test_the_client_fixture_reaches_the_control_plane(client: Client, namespace: str) -> None:
    made = await client.create(
        core.ConfigMap(metadata=meta.ObjectMeta(name="greeting", namespace=namespace), data={"hello": "world"})
    )

    assert made.metadata.uid
    assert (await client.get(core.ConfigMap, "greeting", namespace)).data == {"hello": "world"}


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules); import kubewright.testing.plugin;"
        "print(*sorted(name for name in set(sys.modules) - before if name.startswith('kubewright')));"
        "print(*(name for name in ('aiohttp', 'cryptography', 'yaml', 'msgspec') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    rooms, heavy = done.stdout.splitlines()
    door = ["kubewright.garbage", "kubewright.lazy"]
    assert rooms.split() == [
        "kubewright",
        *door,
        "kubewright.testing",
        "kubewright.testing.plugin",
        "kubewright.version",
    ]
    assert heavy == ""


def test_tests_that_use_the_control_plane_can_be_left_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_directly(control_plane): assert False
        def test_indirectly(namespace): assert False
        async def test_asynchronously(client): assert False
        def test_of_something_else(): pass
        """
    )
    pytester.runpytest_inprocess(*ASYNC_MODE, "-m", "not control_plane").assert_outcomes(passed=1, deselected=3)


@pytest.mark.promise("The control plane for tests", "One control plane for a run, one namespace for a test.")
def test_there_is_one_control_plane_for_the_run_and_one_namespace_for_each_test(
    control_plane: ControlPlane, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # In a run of its own the home directory, and so the cache, is another one.
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(control_plane.binaries))
    pytester.makepyfile(
        """
        import pytest
        from kubewright.api import core

        seen = {}

        def test_first(control_plane, namespace):
            seen.update(url=control_plane.url, namespace=namespace)
            found = control_plane.request("GET", f"/api/v1/namespaces/{namespace}")
            assert found["status"]["phase"] == "Active"

        def test_second(control_plane, namespace):
            assert control_plane.url == seen["url"]
            assert namespace != seen["namespace"]
            first = control_plane.request("GET", f"/api/v1/namespaces/{seen['namespace']}")
            assert first["status"]["phase"] == "Terminating"

        @pytest.mark.asyncio
        async def test_third(client, namespace, fake_node):
            assert (await client.get(core.Namespace, namespace)).metadata.name == namespace
            assert (await client.get(core.Node, fake_node.name)).metadata.name == fake_node.name
        """
    )
    outcome = pytester.runpytest_subprocess(*ASYNC_MODE, "-Werror", f"--control-plane-logs={tmp_path / 'logs'}")
    outcome.assert_outcomes(passed=3)
    assert {path.name for path in (tmp_path / "logs").iterdir()} == {"etcd.log", "kube-apiserver.log"}


def test_each_worker_of_xdist_keeps_its_logs_apart(pytester: pytest.Pytester) -> None:
    assert plugin._log_directory(pytester.parseconfig()) is None
    config = pytester.parseconfig("--control-plane-logs=logs")
    assert plugin._log_directory(config) == Path("logs")
    config.workerinput = {"workerid": "gw1"}  # type: ignore[attr-defined]  # as xdist does
    assert plugin._log_directory(config) == Path("logs/gw1")


def test_the_fixtures_are_documented_by_pytest(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest_inprocess("--fixtures", *ASYNC_MODE)
    for line in ("control_plane [[]session scope[]]*", "namespace *", "client *", "fake_node *"):
        shown.stdout.fnmatch_lines([line])
