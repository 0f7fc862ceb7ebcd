"""Completion of names in a cluster, and of nothing if the cluster does not answer in time."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kubewright.api import ObjectMeta, core
from kubewright.cli.common import _cluster_names as names  # private: the limit is too short for a busy machine
from kubewright.cli.common._completing import Complete, namespaces, objects  # private: click calls them
from kubewright.cluster import Cluster
from tests.cli.commands import write_kubeconfig
from tests.patience import PATIENCE

PARAMETER = click.Argument(["target"])


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "LIMIT_SECONDS", PATIENCE)


def context(**params: object) -> click.Context:
    made = click.Context(click.Command("why"))
    made.params.update(params)
    return made


@pytest.mark.usefixtures("patient")
async def test_completes_namespaces_kinds_and_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    async with Cluster() as cluster:
        await cluster.serve()
        client = cluster.client()
        for namespace, name in (("default", "one"), ("default", "other"), ("kube-system", "third")):
            await client.create(core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace)))
        kubeconfig = str(cluster.kubeconfig())

        async def offered(complete: Complete, typed: str, **params: object) -> list[str]:
            given = context(kubeconfig=kubeconfig, **params)
            found = await asyncio.to_thread(complete, given, PARAMETER, typed)
            return [item.value for item in found]

        assert await offered(namespaces, "kube-s") == ["kube-system"]
        assert await offered(objects, "confi") == ["ConfigMap/"]
        assert await offered(objects, "configmap/o") == ["configmap/one", "configmap/other"]
        assert await offered(objects, "cm/t", namespace="kube-system") == ["cm/third"]
        assert await offered(objects, "Namespace/def") == ["Namespace/default"]
        assert await offered(objects, "NoSuchKind/") == []


@pytest.fixture
def silent_server() -> Iterator[int]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.promise("Projects", "Shell completion asks the cluster for at most a second.")
def test_server_that_hangs_offers_nothing_and_prints_nothing(silent_server: int, tmp_path: Path) -> None:
    config = tmp_path / "config"
    write_kubeconfig(config, f"http://127.0.0.1:{silent_server}")
    for words, index in (("kubewright why -n ", "3"), ("kubewright why ConfigMap/", "2")):
        asking = {"_KUBEWRIGHT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": index}
        done = subprocess.run(
            [sys.executable, "-m", "kubewright"],
            env={**os.environ, **asking, "KUBECONFIG": str(config)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


@pytest.mark.usefixtures("patient")
def test_names_that_could_control_a_terminal_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def connected(*_: object) -> list[str]:
        return ["good", "bad\x1b[2J", "two words", "$(reboot)", "x" * 1_000]

    monkeypatch.setattr(names, "_connected", connected)
    assert [item.value for item in namespaces(context(), PARAMETER, "")] == ["good"]
