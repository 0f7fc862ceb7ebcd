"""Completion of names in a cluster, and of nothing if the cluster does not answer in time."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.cli import run
from kubewright.cluster import Cluster
from tests.cli.commands import write_kubeconfig
from tests.patience import PATIENCE

MODULE = "kubewright.cli.common._cluster_names"


class Shell:
    """Asks for completions in this process, as the script of bash does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._patch = monkeypatch
        self._capsys = capsys
        # One second is too short for a busy machine.
        monkeypatch.setattr(f"{MODULE}.LIMIT_SECONDS", PATIENCE)
        monkeypatch.setenv("_KUBEWRIGHT_COMPLETE", "bash_complete")

    async def offers(self, words: str) -> list[str]:
        self._patch.setenv("COMP_WORDS", f"kubewright {words}")
        self._patch.setenv("COMP_CWORD", str(len(words.split(" "))))
        await asyncio.to_thread(run, [])
        return [line.removeprefix("plain,") for line in self._capsys.readouterr().out.split()]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys)


async def test_completes_namespaces_kinds_and_names(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Cluster() as cluster:
        await cluster.serve()
        client = cluster.client()
        for namespace, name in (("default", "one"), ("default", "other"), ("kube-system", "third")):
            await client.create(core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace)))
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig()))
        assert await shell.offers("why -n kube-s") == ["kube-system"]
        assert await shell.offers("why confi") == ["ConfigMap/"]
        assert await shell.offers("why configmap/o") == ["configmap/one", "configmap/other"]
        assert await shell.offers("pause -n kube-system cm/t") == ["cm/third"]
        assert await shell.offers("why Namespace/def") == ["Namespace/default"]
        assert await shell.offers("why NoSuchKind/") == []


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


async def test_names_that_could_control_a_terminal_are_dropped(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def connected(*_: object) -> list[str]:
        return ["good", "bad\x1b[2J", "two words", "$(reboot)", "x" * 1_000]

    monkeypatch.setattr(f"{MODULE}._connected", connected)
    assert await shell.offers("why -n ") == ["good"]
