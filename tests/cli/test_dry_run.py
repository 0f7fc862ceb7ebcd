"""`kubewright run --dry-run`: what it prints, and its exit codes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubewright.api import coordination, core, meta
from kubewright.cli import run
from kubewright.client import Client
from kubewright.cluster import Cluster

PROGRAM = """
import kubewright as kw
from kubewright.api import core, meta

operator = kw.Operator("copier", external_calls="none", leader_elect=True, lease_namespace="default")

@operator.reconciles(core.ConfigMap, owns=[core.Secret], labels="copy=yes")
async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
    if obj.metadata.name == "broken":
        raise RuntimeError("no copy today")
    ctx.record("Copied", "copied")
    await ctx.apply(
        core.Secret(metadata=meta.ObjectMeta(name=obj.metadata.name, labels={"of": "copier"}), string_data=obj.data)
    )
"""


@pytest.fixture
async def client(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    async with Cluster() as cluster, cluster.client() as client:
        await cluster.serve()
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig()))
        yield client


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "copier.py").write_text(PROGRAM)
    return str(tmp_path / "copier.py")


async def dry_run(program: str, *options: str) -> int:
    return await asyncio.to_thread(run, ["run", program, "--dry-run", *options])


async def create(client: Client, name: str) -> None:
    metadata = meta.ObjectMeta(name=name, namespace="default", labels={"copy": "yes"})
    await client.create(core.ConfigMap(metadata=metadata, data={"word": "swordfish"}))


async def test_exits_with_0_if_nothing_would_change(
    client: Client, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await dry_run(program) == 0
    assert capsys.readouterr().out == "0 objects reconciled as a dry run: no changes\n"


async def test_exits_with_3_and_prints_the_changes_without_secrets(
    client: Client, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await create(client, "one")
    assert await dry_run(program) == 3
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "+ Secret default/one"
    assert '    + metadata.labels.of: "copier"' in lines
    assert '    + data.word: "••••••••"' in lines
    assert lines[-1] == "1 object reconciled as a dry run: 1 created"
    assert "swordfish" not in printed.out + printed.err
    assert await client.list(core.Secret, "default") == []
    assert await client.list(core.Event, "default") == []
    assert await client.list(coordination.Lease, "default") == []


async def test_exits_with_1_if_a_reconcile_fails(
    client: Client, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await create(client, "one")
    await create(client, "broken")
    assert await dry_run(program) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "! ConfigMap default/broken, controller configmap: RuntimeError: no copy today" in lines
    assert lines[-1] == "2 objects reconciled as a dry run: 1 created; 1 failed"


async def test_prints_json(client: Client, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    await create(client, "one")
    assert await dry_run(program, "--output", "json") == 3
    document = json.loads(capsys.readouterr().out)
    [change] = document.pop("changes")
    assert {"op": "add", "path": "data.word", "after": "••••••••"} in change["fields"]
    assert (change["action"], change["kind"], change["name"]) == ("create", "Secret", "one")
    assert document == {"operator": "copier", "reconciled": 1, "failures": [], "waiting": [], "notShown": []}


async def test_exits_with_2_if_external_calls_are_not_declared(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vague.py").write_text(PROGRAM.replace('external_calls="none", ', ""))
    assert await dry_run(str(tmp_path / "vague.py")) == 2
    assert "operator copier does not declare its external calls" in capsys.readouterr().err


def test_exits_with_2_without_a_cluster(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", program, "--dry-run", "--kubeconfig", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_rejects_json_without_a_dry_run(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", program, "--output", "json"]) == 2
    assert "--output json is for --dry-run" in capsys.readouterr().err
