"""`kubewright why` for a running operator."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from click.testing import CliRunner

import kubewright as kw
from kubewright.api import core, meta
from kubewright.cli import cli, run
from kubewright.cluster import Cluster
from tests.patience import until

operator = kw.Operator("curious", health_bind="127.0.0.1:0", metrics_bind=None)


class GaugeSpec(kw.Model):
    size: int = 0


@kw.resource("absent.example.com/v1")
class Gauge(kw.Resource[GaugeSpec, None]):
    """A kind that the cluster does not have."""


@operator.reconciles(core.ConfigMap, name="settings", reads=[kw.Reads(Gauge, optional=True)])
async def sync(settings: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
    if settings.metadata.name == "bad":
        raise RuntimeError("there is no \x1b[31mred\x1b[0m in it")
    await ctx.apply(core.Secret(metadata=meta.ObjectMeta(name=f"{settings.metadata.name}-secret")))


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async with Cluster(controllers=False) as cluster, cluster.client() as client, operator.running(client) as running:
        for name in ("good", "bad"):
            await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default")))

        async def reconciled() -> bool:
            good, bad = (running.inspect(core.ConfigMap, name, "default") for name in ("good", "bad"))
            return bool(good.results) and good.queue.state == "idle" and bool(bad.last_error)

        await until(reconciled)
        yield f"127.0.0.1:{running.servers[0].port}"


async def asked(*arguments: str) -> int:
    return await asyncio.to_thread(run, ["why", *arguments])


@pytest.mark.promise(
    "Projects",
    "`kubewright why` reports what triggered a reconcile, its result and the next retry; it prints no control "
    "characters of an object.",
)
async def test_reports_what_triggered_a_reconcile_and_its_result(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await asked("configmap/good", "--address", address) == 0
    output = capsys.readouterr().out
    assert "ConfigMap default/good, controller settings" in output
    assert "queue    idle, waiting for changes" in output
    assert "create secrets good-secret: 201" in output
    assert "absent   Gauge (absent.example.com/v1) is not installed; it is optional" in output
    shown = await asyncio.to_thread(CliRunner().invoke, cli, ["why", "ConfigMap/bad", "--address", address], color=True)
    output = shown.output
    assert "next reconcile in" in output or "running since" in output or "waiting for a worker" in output
    assert "there is no" in output
    assert "\x1b" not in output


async def test_shows_that_an_object_is_paused(capsys: pytest.CaptureFixture[str]) -> None:
    async with Cluster(controllers=False) as cluster, cluster.client() as client, operator.running(client) as running:
        paused = meta.ObjectMeta(name="held", namespace="default", annotations={"kubewright.dev/paused": "yes"})
        await client.create(core.ConfigMap(metadata=paused))
        await running.settled()
        assert await asked("ConfigMap/held", "--address", f"127.0.0.1:{running.servers[0].port}") == 0
    output = capsys.readouterr().out
    assert (
        'paused   by the annotation kubewright.dev/paused="yes"; `kubewright resume ConfigMap/held` resumes it'
        in output
    )
    assert "results  none yet" in output


async def test_prints_json(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await asked("ConfigMap/good", "--address", address, "--output", "json") == 0
    [found] = json.loads(capsys.readouterr().out)["objects"]
    assert (found["kind"], found["results"][0]["result"]) == ("ConfigMap", "success")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["ConfigMap/other"], 1, "has no record of ConfigMap default/other"),
        (["ConfigMp/good"], 2, "did you mean ConfigMap?"),
        (["Pod/good"], 2, "it reconciles ConfigMap"),
        (["good"], 2, "name the object as KIND/NAME"),
    ],
)
async def test_reports_an_unknown_object_or_kind(
    address: str, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await asked(*arguments, "--address", address) == code
    assert message in capsys.readouterr().err


def test_reports_that_no_operator_answers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:2")  # is not used
    assert run(["why", "Foo/example", "--address", "127.0.0.1:1"]) == 1
    assert "no operator answers at 127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", ["nonsense", "127.0.0.1:", "127.0.0.1:99999", "ftp://127.0.0.1:80", "https://me@localhost:1"]
)
def test_an_invalid_address_is_reported_with_examples(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", "Foo/example", "--address", wrong]) == 2
    assert f"such as 127.0.0.1:8081 or https://localhost:8080, not {wrong!r}" in capsys.readouterr().err
