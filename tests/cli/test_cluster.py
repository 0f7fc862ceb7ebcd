"""`kubewright cluster start`: in the foreground, until Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewright.api import ObjectMeta, authorization
from kubewright.api.core.v1 import ConfigMap, Namespace, Node, Service, ServiceAccount
from kubewright.api.rbac.v1 import ClusterRole
from kubewright.cli import run
from kubewright.client import BlockingClient
from tests.patience import PATIENCE


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Starts the command; yields its process and the lines that it printed until ready. Stops it with Ctrl-C."""
    command = [sys.executable, "-m", "kubewright.cli", "cluster", "start", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        try:
            yield process, lines
        finally:
            process.send_signal(signal.SIGINT)
            lines += process.stdout.readlines()
            process.wait(timeout=PATIENCE)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster with workloads."""
    kubeconfig = tmp_path_factory.mktemp("small") / "config"
    with started("--write-kubeconfig", str(kubeconfig), "--workloads"):
        yield kubeconfig


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster with workloads on three nodes, and with RBAC."""
    kubeconfig = tmp_path_factory.mktemp("large") / "config"
    with started("--write-kubeconfig", str(kubeconfig), "--workloads", "--nodes", "3", "--rbac"):
        yield kubeconfig


def test_runs_until_ctrl_c_and_restores_its_state_from_a_snapshot(tmp_path: Path) -> None:
    kubeconfig, snapshot = tmp_path / "it's a file", tmp_path / "snapshot"
    arguments = ("--write-kubeconfig", str(kubeconfig), "--snapshot", str(snapshot))
    with started(*arguments) as (process, lines):
        assert f"  export KUBECONFIG='{tmp_path}/it'\"'\"'s a file'\n" in lines
        with BlockingClient.connect(kubeconfig=kubeconfig) as client:
            client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "v"}))
    assert (process.returncode, lines[-1]) == (0, "The cluster has stopped.\n")
    assert not kubeconfig.exists()
    with started(*arguments), BlockingClient.connect(kubeconfig=kubeconfig) as client:
        assert client.get(ConfigMap, "a").data == {"k": "v"}


@pytest.mark.promise(
    "The embedded cluster",
    "`--controllers none` starts a bare API server, with the objects that kube-apiserver creates.",
)
def test_runs_a_bare_server_without_controllers(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    arguments = ("--controllers", "none", "--rbac", "--write-kubeconfig", str(kubeconfig))
    with started(*arguments), BlockingClient.connect(kubeconfig=kubeconfig) as client:
        client.create(Namespace(metadata=ObjectMeta(name="a")))
        assert list(client.list(ServiceAccount, namespace="a")) == []
        assert list(client.list(ServiceAccount, namespace="default")) == []
        assert list(client.list(ConfigMap, namespace="a")) == []
        names = {namespace.metadata.name for namespace in client.list(Namespace)}
        assert names == {"a", "default", "kube-node-lease", "kube-public", "kube-system"}
        assert client.get(Service, "kubernetes", namespace="default").spec.cluster_ip == "10.96.0.1"
        assert client.get(ClusterRole, "cluster-admin").rules


def test_controllers_are_required_by_workloads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cluster", "start", "--workloads", "--controllers", "none"]) == 2
    assert "--controllers none and --workloads exclude each other" in capsys.readouterr().err


def test_writes_an_audit_log(tmp_path: Path) -> None:
    kubeconfig, log = tmp_path / "config", tmp_path / "audit.log"
    arguments = ("--write-kubeconfig", str(kubeconfig), "--audit-log", str(log))
    with started(*arguments), BlockingClient.connect(kubeconfig=kubeconfig) as client:
        client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "v"}))
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(event["verb"], event["objectRef"]["name"], event["sourceIPs"]) for event in events] == [
        ("create", "a", ["127.0.0.1"])
    ]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_does_not_remove_the_kubeconfig_of_another_cluster(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with started("--write-kubeconfig", str(kubeconfig)) as (first, _):
        with started("--write-kubeconfig", str(kubeconfig)):
            first.send_signal(signal.SIGINT)
            first.wait(timeout=PATIENCE)
            with BlockingClient.connect(kubeconfig=kubeconfig) as client:
                client.create(ConfigMap(metadata=ObjectMeta(name="a")))
        assert not kubeconfig.exists()


@pytest.mark.parametrize("cluster", ["small", "large"])
def test_allows_everything_or_with_rbac_only_what_roles_grant(cluster: str, request: pytest.FixtureRequest) -> None:
    asked = authorization.ResourceAttributes(verb="list", resource="pods")
    review = authorization.SubjectAccessReview(
        spec=authorization.SubjectAccessReviewSpec(user="jane", resource_attributes=asked)
    )
    with BlockingClient.connect(kubeconfig=request.getfixturevalue(cluster)) as client:
        status = client.create(review).status
    assert status is not None
    assert status.allowed is (cluster == "small")


def test_rejects_invalid_options_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cluster", "start", "--port", "70000"]) != 0
    assert "70000 is not in the range 0<=x<=65535" in capsys.readouterr().err
    assert run(["cluster", "start", "--nodes", "3"]) == 2
    assert "--nodes requires --workloads: without workloads nothing runs on nodes" in capsys.readouterr().err


def test_starts_the_requested_number_of_nodes(small: Path, large: Path) -> None:
    for kubeconfig, nodes in ((large, ["node-1", "node-2", "node-3"]), (small, ["node-1"])):
        with BlockingClient.connect(kubeconfig=kubeconfig) as client:
            assert [node.metadata.name for node in client.list(Node)] == nodes


def test_does_not_overwrite_another_kubeconfig(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    precious = tmp_path / "config"
    precious.write_text("clusters: [{name: production}]\n")
    assert run(["cluster", "start", "--write-kubeconfig", str(precious)]) == 1
    assert "is not a kubeconfig of an earlier cluster" in capsys.readouterr().err
    assert precious.read_text() == "clusters: [{name: production}]\n"


def test_reports_a_port_in_use_with_the_fix(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["cluster", "start", "--port", str(port)]) == 1
    assert f"port {port} is in use: name another one with --port" in capsys.readouterr().err
