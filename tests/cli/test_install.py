"""`kubewright install` and `kubewright uninstall`: what they tell, and what they leave alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubewright.api import apiextensions, to_dict
from kubewright.cli._main import run
from kubewright.client import Client
from kubewright.cluster import Cluster

pytestmark = pytest.mark.timeout(300)  # on a machine with other things to do

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
    """Runs commands about the program, on the cluster."""

    def __init__(self, program: Path, kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._arguments = [str(program), "--kubeconfig", kubeconfig]
        self._capsys = capsys

    async def __call__(self, *command: str, code: int = 0) -> list[str]:
        """The lines that it tells, those of its error last."""
        assert await asyncio.to_thread(run, [*command, *self._arguments]) == code
        told = self._capsys.readouterr()
        return [*told.out.splitlines(), *told.err.splitlines()]


@pytest.fixture
def shell(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    program = tmp_path / "backup.py"
    program.write_text(PROGRAM)
    return Shell(program, str(cluster.kubeconfig()), capsys)


async def test_a_definition_alone_converts_nothing_and_keeps_the_webhook_that_does(
    shell: Shell, client: Client
) -> None:
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
