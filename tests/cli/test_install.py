"""`kubewright install` and `kubewright uninstall`: what they print, and what they do not change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubewright.api import Untyped, apiextensions, to_dict
from kubewright.cli import run
from kubewright.client import Client, MergePatch
from kubewright.cluster import Cluster

pytestmark = pytest.mark.timeout(300)  # on a busy machine

PROGRAM = """
import kubewright as kw

class OldSpec(kw.Model):
    schedule: str = "daily"

class Spec(kw.Model):
    cron: str = "daily"

@kw.resource("install.example.com/v1", kind="Backup")
class Old(kw.Resource[OldSpec, None]): ...

@kw.resource("install.example.com/v2", kind="Backup", storage=True)
class New(kw.Resource[Spec, None]): ...

operator = kw.Operator("backup")

@operator.converts(Old, New)
def upgrade(old: Old) -> New:
    return New(spec=Spec(cron=old.spec.schedule))

@operator.converts(New, Old)
def downgrade(new: New) -> Old:
    return Old(spec=OldSpec(schedule=new.spec.cron))
"""
CRD = apiextensions.CustomResourceDefinition
NAME = "backups.install.example.com"
Backup = Untyped.kind_of("install.example.com/v2", "Backup", plural="backups")


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster() as cluster:
        await cluster.serve()
        yield cluster


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client() as client:
        yield client


class Shell:
    """Runs commands for the program on the cluster."""

    def __init__(self, program: Path, kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._arguments = [str(program), "--kubeconfig", kubeconfig]
        self._capsys = capsys

    async def __call__(self, *command: str, code: int = 0) -> list[str]:
        """Runs a command, and returns the lines of its output, then those of its errors."""
        assert await asyncio.to_thread(run, [*command, *self._arguments]) == code
        captured = self._capsys.readouterr()
        return [*captured.out.splitlines(), *captured.err.splitlines()]


@pytest.fixture
def shell(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    program = tmp_path / "backup.py"
    program.write_text(PROGRAM)
    return Shell(program, str(cluster.kubeconfig()), capsys)


async def test_install_keeps_an_existing_conversion_webhook(shell: Shell, client: Client) -> None:
    installed, hint = await shell("install")
    assert installed == f"installed {NAME}"
    assert hint.startswith(f"objects of {NAME} in other versions than the stored one need the operator")
    assert "`kubewright run --install-crds --webhook-url ...`" in hint
    definition = await client.get(CRD, NAME)
    where = apiextensions.WebhookClientConfig(url="https://backup.example.com/convert")
    webhook = apiextensions.WebhookConversion(conversion_review_versions=["v1"], client_config=where)
    definition.spec.conversion = apiextensions.CustomResourceConversion(strategy="Webhook", webhook=webhook)
    await client.update(definition)
    await shell("install")
    kept = (await client.get(CRD, NAME)).spec.conversion
    assert to_dict(kept) == to_dict(definition.spec.conversion)


@pytest.fixture
async def held(shell: Shell, client: Client) -> AsyncIterator[None]:
    """An object with a finalizer, which blocks the deletion of the definition until the test ends."""
    await shell("install")
    backup = Backup()
    backup.metadata.name, backup.metadata.namespace = "one", "default"
    backup.metadata.finalizers = ["install.example.com/waits"]
    await client.create(backup)
    yield
    await client.patch(Backup, "one", MergePatch({"metadata": {"finalizers": None}}), "default")


WAITS = "Backup default/one has the finalizers install.example.com/waits. Is the operator that removes them running?"


async def test_reports_a_definition_that_is_being_deleted_with_what_it_waits_for(
    shell: Shell, client: Client, held: None
) -> None:
    await client.delete(CRD, NAME)
    [error] = await shell("install", code=1)
    assert error.endswith(f"{NAME}: it is being deleted, and must be gone first: {WAITS}")
    findings = await shell("doctor", code=1)
    assert f"error   {NAME} is being deleted" in findings
    assert f"        it waits: {WAITS}" in findings


async def test_uninstall_reports_a_definition_that_still_exists(shell: Shell, held: None) -> None:
    assert await shell("uninstall", "--yes", "--timeout", "0.1", code=1) == [
        f"Error: the definitions still exist after 100ms: {WAITS}"
    ]
