"""In which order an operator starts and stops, and how its process ends, on the real control plane."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kubewright.api import core, meta
from kubewright.cache import CacheOptions
from kubewright.client import Client
from kubewright.controller import Context
from kubewright.operator import Component, ExitCode, Operator, Running
from kubewright.operator.definition import STAGES, Stage
from kubewright.testing import ControlPlane
from tests.operator.test_health import get
from tests.operator.test_leadership import marked, taken_away
from tests.operator.test_running import logged, program
from tests.patience import until


def config_map(namespace: str, name: str = "one") -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace))


async def asked(running: Running, path: str) -> str:
    status, body, _ = await asyncio.to_thread(get, running.servers[0].port, path)
    return f"{status} {body}"


def noting(stage: Stage, notes: list[str]) -> Component:
    """A component that notes when it starts and stops, and how ready the operator says it is by then."""

    @asynccontextmanager
    async def component(running: Running) -> AsyncIterator[None]:
        notes.append(f"{stage} starts: {await asked(running, '/readyz/caches')}".strip())
        yield
        notes.append(f"{stage} stops: {await asked(running, '/readyz/stopping')}".strip())

    return component


@pytest.mark.promise(
    "Running an operator",
    "Pages, webhooks, caches, others, what is the leader's, controllers: in this order, and back again.",
)
async def test_starts_in_stages_and_stops_in_reverse(client: Client, namespace: str) -> None:
    operator = Operator(
        "ordered", namespaces=[namespace], leader_elect=True, lease_namespace=namespace, health_bind="127.0.0.1:0"
    )
    notes: list[str] = []
    reconciled = asyncio.Event()
    for stage in STAGES:
        operator.attach(noting(stage, notes), stage=stage)

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None:
        notes.append("reconciles")
        reconciled.set()

    operator.ready_check("mine", lambda: "not today")
    await client.create(config_map(namespace))
    async with operator.running(client) as running:
        await reconciled.wait()
        assert await asked(running, "/healthz") == "200 ok"
        assert await asked(running, "/readyz?verbose") == (
            "500 [+]ping ok\n[+]caches ok\n[+]stopping ok\n[-]mine failed: not today\nreadyz check failed\n"
        )
        assert await asked(running, "/readyz?exclude=mine") == "200 ok"
    assert notes == [
        "webhooks starts: 500 [-]caches failed: not started yet",
        "others starts: 200 ok",
        "leader starts: 200 ok",
        "reconciles",
        *(f"{stage} stops: 500 [-]stopping failed: the operator is stopping" for stage in reversed(STAGES)),
    ]


@pytest.mark.promise(
    "Running an operator",
    "Pages, webhooks, caches, others, what is the leader's, controllers: in this order, and back again.",
)
async def test_failed_start_stops_started_components(client: Client, namespace: str) -> None:
    operator = Operator("broken", namespaces=[namespace], health_bind="127.0.0.1:0")
    notes: list[str] = []

    @asynccontextmanager
    async def broken(running: Running) -> AsyncIterator[None]:
        raise RuntimeError("no port is free")
        yield

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    operator.attach(noting("webhooks", notes), stage="webhooks")
    operator.attach(broken)
    with pytest.raises(RuntimeError, match="no port is free"):
        await operator.running(client).__aenter__()
    assert [note.split(":")[0] for note in notes] == ["webhooks starts", "webhooks stops"]


async def test_leader_that_cannot_start_fails_and_releases_lease(client: Client, namespace: str) -> None:
    operator = Operator("broken", namespaces=[namespace], leader_elect=True, lease_namespace=namespace)

    @asynccontextmanager
    async def broken(running: Running) -> AsyncIterator[None]:
        raise RuntimeError("no port is free")
        yield

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    operator.attach(broken, stage="leader")
    async with operator.running(client) as running:
        with pytest.raises(RuntimeError, match="no port is free"):
            await running.wait_for_failure()


@pytest.mark.promise("Running an operator", "A failed cache fails the operator.")
async def test_a_cache_that_fails_fails_the_operator(client: Client, namespace: str) -> None:
    operator = Operator("broken", namespaces=[namespace])

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    running = operator.running(client)
    await running.__aenter__()
    failing = asyncio.ensure_future(running.wait_for_failure())
    assert running.caches is not None
    # What no informer does by itself: one more of the same, which refuses to run twice.
    running.caches._start((core.ConfigMap, CacheOptions(labels="another")), running.caches.informers[0])
    with pytest.raises(RuntimeError, match="is already running"):
        await failing
    with pytest.raises(RuntimeError, match="is already running"):
        await running.__aexit__(None, None, None)


@pytest.mark.promise(
    "Running an operator",
    "The grace period passes on the injected clock, and what is cut short is counted.",
)
async def test_counts_interrupted_reconciles(client: Client, namespace: str) -> None:
    operator = Operator("short", namespaces=[namespace])
    entered = asyncio.Event()

    @operator.reconciles(core.ConfigMap)
    async def hang(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None:
        entered.set()
        await asyncio.Event().wait()

    await client.create(config_map(namespace))
    async with operator.running(client, grace=0) as running:
        await entered.wait()
    assert running.interrupted == 1


def test_rejects_unknown_stage() -> None:
    with pytest.raises(ValueError, match="stage must be one of webhooks, others, leader, not 'caches'"):
        Operator("mine").attach(noting("others", []), stage="caches")  # type: ignore[arg-type]


# As processes


REPLICATED = """
import kubewright as kw
from kubewright.api import core

operator = kw.Operator("replicated", lease_duration="45s", renew_deadline="30s", retry_period="500ms")

@operator.reconciles(core.ConfigMap)
async def mark(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
    obj.data = {"seen": "yes"}
    await ctx.update(obj)
"""


@pytest.mark.promise("Running an operator", "Exit codes tell why.")
@pytest.mark.promise("Running an operator", "One replica works, and the next takes over with warm caches.")
async def test_two_replicas_hand_over_and_exit_with_codes(
    control_plane: ControlPlane, client: Client, namespace: str, tmp_path: Path
) -> None:
    script = tmp_path / "replicated.py"
    script.write_text(REPLICATED)
    arguments = ["-m", "kubewright.cli", "run", str(script), "-n", namespace, "--leader-elect"]
    arguments += ["--lease-namespace", namespace, "--kubeconfig", os.fspath(control_plane.kubeconfig)]
    arguments += ["--health-bind", "127.0.0.1:0"]
    one, two = tmp_path / "one", tmp_path / "two"
    async with program(*arguments, log=one) as first, program(*arguments, log=two) as second:
        await until(lambda: _either_has_started(one, two))
        if "has started" in two.read_text():
            first, second, one, two = second, first, two, one
        await logged(two, "caches are in sync")
        await client.create(config_map(namespace))
        await marked(client, namespace, "one")
        standby = int(re.findall(r"/healthz, /readyz at 127\.0\.0\.1:(\d+)", two.read_text())[0])
        assert (await asyncio.to_thread(get, standby, "/readyz"))[:2] == (200, "ok"), "a standby is ready"
        first.send_signal(signal.SIGTERM)
        assert await first.wait() == ExitCode.STOPPED
        await logged(two, "has started")
        await client.create(config_map(namespace, "two"))
        await marked(client, namespace, "two")
        await taken_away(client, namespace)
        assert await second.wait() == ExitCode.LEASE_LOST
    logs = [[json.loads(line) for line in log.read_text().splitlines()] for log in (one, two)]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in [*logs[0], *logs[1]])
    last = logs[1][-1]
    assert last["level"] == "error"
    assert "was lost: another-replica holds the lease now" in last["message"]


async def _either_has_started(*logs: Path) -> bool:
    return any("has started" in log.read_text() for log in logs)


BLOCKED = """
import time
import kubewright as kw
from kubewright.api import core

operator = kw.Operator("blocked")

@operator.reconciles(core.ConfigMap)
async def block(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
    ctx.log.warning("blocking")
    time.sleep(3600)  # real: until it is killed

operator.run()
"""


@pytest.mark.promise("Running an operator", "Exit codes tell why.")
async def test_two_signals_end_process_with_blocked_event_loop(
    control_plane: ControlPlane, client: Client, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, script = tmp_path / "log", tmp_path / "blocked.py"
    script.write_text(BLOCKED)
    monkeypatch.setenv("KUBEWRIGHT_NAMESPACES", namespace)
    monkeypatch.setenv("KUBEWRIGHT_KUBECONFIG", os.fspath(control_plane.kubeconfig))
    monkeypatch.setenv("KUBEWRIGHT_LOG_FORMAT", "pretty")
    await client.create(config_map(namespace))
    async with program(str(script), log=log) as process:
        await logged(log, "WARNING ConfigMap")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        assert await process.wait() == ExitCode.INTERRUPTED
    assert "the operator does not stop within" in log.read_text()


@pytest.mark.promise("Running an operator", "The log shows no secret, and escapes untrusted content.")
async def test_debug_log_does_not_contain_the_token(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    account = control_plane.add_service_account("powerless", namespace)
    log, script = tmp_path / "log", tmp_path / "replicated.py"
    script.write_text(REPLICATED)
    arguments = ["-m", "kubewright.cli", "run", str(script), "--kubeconfig", str(account.kubeconfig), "-v"]
    async with program(*arguments, "--sync-timeout", "2s", log=log) as process:
        assert await process.wait() == ExitCode.NOT_READY
    text = log.read_text()
    assert account.user in text, "it says who lacks which right"
    assert '"level":"debug"' in text
    assert account.token not in text
    assert account.token.split(".")[2] not in text
