"""`kubewright migrate-storage`: what it prints, and how it ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.cluster import Cluster

pytestmark = pytest.mark.timeout(300)  # on a busy machine

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Crate, plural: crates}
  versions:
  - {name: v1, served: true, storage: OLD, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: NEW, schema: {openAPIV3Schema: {type: object}}}
"""
OBJECT = "apiVersion: example.com/v1\nkind: Crate\nmetadata: {name: one}\n"


def stored_in(version: str) -> str:
    old = version == "v1"
    return DEFINITION.replace("OLD", str(old).lower()).replace("NEW", str(not old).lower())


async def test_migrates_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with Cluster() as cluster:
        await cluster.serve()

        async def call(*arguments: str) -> int:
            return await asyncio.to_thread(run, [*arguments, "--kubeconfig", str(cluster.kubeconfig())])

        (tmp_path / "one.yaml").write_text(f"{stored_in('v1')}---\n{OBJECT}")
        (tmp_path / "two.yaml").write_text(stored_in("v2"))
        assert await call("apply", "-f", str(tmp_path / "one.yaml")) == 0
        assert await call("apply", "-f", str(tmp_path / "two.yaml")) == 0
        capsys.readouterr()
        assert await call("migrate-storage", "crates", "--dry-run") == 0
        assert capsys.readouterr().out == (
            "crates.example.com: 1 object can be migrated (server dry run); would be removed from"
            " status.storedVersions: v1\n"
        )
        assert await call("migrate-storage", "Crate", "--output", "json") == 0
        done = json.loads(capsys.readouterr().out)
        assert (done["migrated"], done["storedVersions"], done["dropped"]) == (1, ["v2"], ["v1"])
        assert await call("migrate-storage", "crates.example.com") == 0
        assert capsys.readouterr().out == (
            "crates.example.com: all objects are stored in v2; there is nothing to migrate\n"
        )
        assert await call("migrate-storage", "crate") == 0
        assert await call("migrate-storage", "crats") == 2
        assert "the server does not serve crats; did you mean crates?" in capsys.readouterr().err
