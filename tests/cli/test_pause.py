"""`kubewright pause` and `kubewright resume`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

import kubewright as kw
from kubewright.api import core, meta, rbac
from kubewright.cli import run
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.crd import install
from kubewright.pausing import PAUSE_ANNOTATION


class Spec(kw.Model):
    size: int = 0


@kw.resource("pause.example.com/v1", short_names=["jr"])
class Jar(kw.Resource[Spec, None]):
    """A kind that is paused."""


@kw.resource("pause.example.com/v1", scope="Cluster")
class Shelf(kw.Resource[Spec, None]):
    """A cluster-scoped kind."""


@kw.resource("other.example.com/v1", kind="Jar")
class OtherJar(kw.Resource[Spec, None]):
    """A kind of the same name."""


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    async with Cluster(rbac=True) as cluster:
        await cluster.serve()
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig()))
        yield cluster


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client() as client:
        await install(client, Jar, Shelf)
        await client.create(Jar(metadata=meta.ObjectMeta(name="one", namespace="default"), spec=Spec()))
        await client.create(Shelf(metadata=meta.ObjectMeta(name="top"), spec=Spec()))
        yield client


async def commanded(*arguments: str) -> int:
    return await asyncio.to_thread(run, list(arguments))


async def annotations_of(client: Client) -> dict[str, str]:
    return (await client.get(Jar, "one", "default")).metadata.annotations or {}


@pytest.mark.parametrize("kind", ["Jar", "jars", "jar", "jr", "Jar.pause.example.com", "jars.pause.example.com"])
async def test_pauses_and_resumes_an_object(client: Client, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await commanded("pause", f"{kind}/one") == 0
    assert await annotations_of(client) == {PAUSE_ANNOTATION: "true"}
    assert capsys.readouterr().out == "paused Jar default/one\n"
    assert await commanded("pause", f"{kind}/one", "-n", "default") == 0
    assert capsys.readouterr().out == "Jar default/one is already paused\n"
    assert await commanded("resume", f"{kind}/one") == 0
    assert await annotations_of(client) == {}
    assert capsys.readouterr().out == "resumed Jar default/one\n"
    assert await commanded("resume", f"{kind}/one") == 0
    assert capsys.readouterr().out == "Jar default/one is not paused\n"


async def test_pauses_a_cluster_scoped_object_and_prints_json(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await commanded("pause", "Shelf/top", "--annotation", "example.com/hold", "--output", "json") == 0
    assert json.loads(capsys.readouterr().out) == {"steps": [{"did": "paused", "what": "Shelf top"}]}
    assert (await client.get(Shelf, "top")).metadata.annotations == {"example.com/hold": "true"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["Jarr/one"], 2, "the cluster has no kind Jarr; did you mean Jar?"),
        (["Jar/two"], 1, "there is no Jar default/two; choose another namespace with -n"),
        (["Jar/one", "-n", "shop"], 1, "there is no Jar shop/one"),
        (["Jar.example.com/one"], 2, "the cluster has no kind Jar.example.com"),
        (["one"], 2, "name the object as KIND/NAME"),
    ],
)
@pytest.mark.parametrize("command", ["pause", "resume"])
async def test_reports_an_unknown_kind_or_object(
    client: Client, command: str, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await commanded(command, *arguments) == code
    assert message in capsys.readouterr().err


async def test_asks_for_the_group_if_several_have_the_kind(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    await install(client, OtherJar)
    assert await commanded("pause", "Jar/one") == 2
    error = capsys.readouterr().err
    assert "several groups have a kind Jar: name one of Jar.other.example.com, Jar.pause.example.com" in error


async def test_prefers_the_core_group(client: Client) -> None:
    # Events are in two groups, and kubectl means the one in the core group, too.
    await client.create(
        core.Event(
            metadata=meta.ObjectMeta(name="one", namespace="default"),
            involved_object=core.ObjectReference(kind="Pod", name="web", namespace="default"),
            reason="Started",
            type="Normal",
        )
    )
    assert await commanded("pause", "Event/one") == 0


async def test_reports_a_missing_permission(
    cluster: Cluster,
    client: Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await client.create(
        rbac.ClusterRole(
            metadata=meta.ObjectMeta(name="reader"),
            rules=[rbac.PolicyRule(api_groups=["*"], resources=["*"], verbs=["get"])],
        )
    )
    await client.create(
        rbac.ClusterRoleBinding(
            metadata=meta.ObjectMeta(name="reader"),
            role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="reader"),
            subjects=[rbac.Subject(api_group="rbac.authorization.k8s.io", kind="User", name="jane")],
        )
    )
    kubeconfig = yaml.safe_load(cluster.kubeconfig().read_text())
    kubeconfig["users"][0]["user"]["as"] = "jane"
    (tmp_path / "config").write_text(yaml.safe_dump(kubeconfig))
    assert await commanded("pause", "Jar/one", "--kubeconfig", str(tmp_path / "config")) == 1
    error = capsys.readouterr().err
    assert "your account is not allowed to do this" in error
    assert 'cannot patch resource "jars"' in error
