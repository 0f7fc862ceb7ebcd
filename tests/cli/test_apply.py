"""`kubewright apply`: what it prints, and how it ends."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kubewright.cli import run
from kubewright.cluster import Cluster

pytestmark = pytest.mark.timeout(300)  # on a busy machine

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: green}\n"
BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: broken\ndatta: {}\n"


@pytest.fixture
async def kubeconfig() -> AsyncIterator[str]:
    async with Cluster() as cluster:
        await cluster.serve()
        yield str(cluster.kubeconfig())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def apply(kubeconfig: str, *arguments: str) -> int:
    return await asyncio.to_thread(run, ["apply", *arguments, "--kubeconfig", kubeconfig])


@pytest.mark.promise("Projects", "`kubewright apply` applies files, folders and standard input.")
async def test_prints_a_line_for_each_object(
    kubeconfig: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "one.yaml").write_text(CONFIG_MAP)
    assert await apply(kubeconfig, "-f", "one.yaml", "--dry-run") == 0
    assert capsys.readouterr().out == "configmap/settings created (server dry run)\n"
    assert await apply(kubeconfig, "-f", ".", "-n", "default") == 0
    assert capsys.readouterr().out == "configmap/settings created\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(CONFIG_MAP.encode())))
    assert await apply(kubeconfig, "-f", "-", "--output", "json") == 0
    [applied] = json.loads(capsys.readouterr().out)["applied"]
    assert (applied["action"], applied["file"], applied["document"]) == ("unchanged", "-", 1)


async def test_reports_failures_with_their_places(
    kubeconfig: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "all.yaml").write_text(f"{CONFIG_MAP}---\n{BROKEN}")
    assert await apply(kubeconfig, "-f", "all.yaml") == 1
    printed = capsys.readouterr()
    assert printed.out == "configmap/settings created\n"
    assert printed.err.startswith("Error: 1 of 2 objects were not applied: all.yaml, document 2, line 10: ")
    assert "datta" in printed.err
    (folder / "more.yaml").write_text(BROKEN)
    assert await apply(kubeconfig, "-f", "all.yaml", "-f", "more.yaml") == 1
    first, second, last = capsys.readouterr().err.splitlines()
    assert first.startswith("all.yaml, document 2, line 10: ")
    assert second.startswith("more.yaml, document 1, line 5: ")
    assert last == "Error: 2 of 3 objects were not applied (kubewright explain KW120)"


async def test_rejects_an_invalid_field_manager_once(
    kubeconfig: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "all.yaml").write_text(f"{CONFIG_MAP}---{CONFIG_MAP}")
    assert await apply(kubeconfig, "-f", "all.yaml", "--field-manager", "") == 2
    message = "Error: --field-manager must be printable characters, such as site-operator, not ''"
    assert capsys.readouterr().err.splitlines() == [message]


async def test_nothing_is_applied_if_a_file_cannot_be_read(
    kubeconfig: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "one.yaml").write_text(CONFIG_MAP)
    assert await apply(kubeconfig, "-f", "one.yaml", "-f", "missing.yaml") == 2
    assert capsys.readouterr().err == "Error: nothing was applied: missing.yaml: No such file or directory\n"


async def test_conflict_names_the_option_that_solves_it(
    kubeconfig: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "one.yaml").write_text(CONFIG_MAP)
    assert await apply(kubeconfig, "-f", "one.yaml", "--field-manager", "first") == 0
    (folder / "one.yaml").write_text(CONFIG_MAP.replace("green", "blue"))
    assert await apply(kubeconfig, "-f", "one.yaml") == 1
    assert "; use --force-conflicts to take fields over" in capsys.readouterr().err
    assert await apply(kubeconfig, "-f", "one.yaml", "--force-conflicts") == 0
    assert capsys.readouterr().out == "configmap/settings configured\n"
