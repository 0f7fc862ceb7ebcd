"""Starting and stopping a whole operator: on both clusters, and as programs on the real control plane."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest

import kubewright as kw
from kubewright import resource
from kubewright.api import JSON, Resource, core, meta
from kubewright.api.coordination.v1 import Lease
from kubewright.cache import CacheSyncError
from kubewright.client import Client, Invalid, MergePatch
from kubewright.clock import SystemClock, VirtualClock
from kubewright.cluster import Cluster
from kubewright.controller import Context
from kubewright.operator import ExitCode, Operator
from kubewright.testing import ControlPlane, RealCluster
from tests.operator.conftest import EXAMPLE, events, settled
from tests.patience import PATIENCE, until
from tests.transports.disturbed import Disturbed

pytestmark = pytest.mark.clusters

REPOSITORY = Path(__file__).parents[2]


@resource("nowhere.example.com/v1")
class Missing(Resource[JSON, None]):
    """A kind that the server does not have."""


async def start_in_vain(operator: Operator, client: Client) -> None:
    """Start an operator, and let the time for it pass as soon as its cache knows what is wrong."""
    assert isinstance(operator.clock, VirtualClock)
    running = operator.running(client, install_crds=False)
    start = asyncio.create_task(running.__aenter__())

    async def failed() -> bool:
        return any(controller._informer.health.last_error for controller in running.controllers)

    await until(failed)
    # Less than the cache waits before it asks again: so that nothing is under way when the start is given up.
    await operator.clock.advance(operator.settings.sync_timeout)
    await start


async def test_an_operator_without_controllers_has_nothing_to_do(client: Client) -> None:
    with pytest.raises(ValueError, match="operator 'idle' has nothing to do: register a reconciler or a webhook"):
        async with Operator("idle").running(client, install_crds=False):
            pass


@pytest.mark.promise("Reading the cache", "A kind that is not served is named, and waited for.")
async def test_start_fails_with_the_name_of_an_unserved_kind(client: Client) -> None:
    operator = Operator("lost", clock=VirtualClock(), sync_timeout=0.01)

    @operator.reconciles(Missing)
    async def sync(obj: Missing, ctx: Context[Missing]) -> None: ...

    expected = r"Missing \(nowhere\.example\.com/v1\): the server does not serve missings\.nowhere\.example\.com"
    with pytest.raises(CacheSyncError, match=expected):
        await start_in_vain(operator, client)


async def test_start_fails_with_verb_and_user_of_a_missing_permission(control_plane: ControlPlane) -> None:
    operator = Operator("powerless", clock=VirtualClock(), sync_timeout=0.01)

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    async with Client.connect(kubeconfig=control_plane.add_user("ordinary-user")) as client:
        with pytest.raises(CacheSyncError, match=r"configmaps is forbidden.*ordinary-user"):
            await start_in_vain(operator, client)


@pytest.mark.promise(
    "Running an operator",
    "`operator.running` starts and stops everything in this process, kinds installed.",
)
async def test_runs_repeatedly_on_a_cluster_with_a_kubeconfig(
    control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    operator = Operator("again", namespaces=[namespace])
    seen: list[str] = []

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None:
        seen.append(ctx.trigger)

    made = await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="c", namespace=namespace)))
    for _ in range(2):
        async with operator.running(control_plane) as running:
            await settled(running, made)
    assert seen == ["initial", "initial"]


async def test_runs_on_a_cluster_that_makes_clients(cluster: Cluster | RealCluster, namespace: str) -> None:
    operator = Operator("on-a-cluster", namespaces=[namespace])
    seen = asyncio.Event()

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None:
        seen.set()

    async with operator.running(cluster) as running, asyncio.timeout(PATIENCE):
        await running.client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="one", namespace=namespace)))
        await seen.wait()


class Closing(Disturbed):
    """An embedded cluster that counts how often its client was closed."""

    closed = 0

    def client(self) -> Client:
        return Client(transport=self)

    async def close(self) -> None:
        self.closed += 1
        await super().close()


@pytest.mark.clusters("embedded")
async def test_the_client_that_a_cluster_made_for_a_run_is_closed_at_its_end(cluster: Cluster) -> None:
    operator = Operator("on-a-cluster")

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    closing = Closing(cluster.transport())
    async with operator.running(closing):
        assert closing.closed == 0
    assert closing.closed == 1


@pytest.mark.clusters("embedded")
@pytest.mark.parametrize("given", ["x", 3, Cluster, object()])
def test_rejects_invalid_cluster(given: Any) -> None:
    with pytest.raises(TypeError, match=r"running takes a client, or a cluster: .*; not "):
        Operator("on-nothing").running(given)


@pytest.mark.promise(
    "Running an operator",
    "`operator.running` starts and stops everything in this process, kinds installed.",
)
async def test_running_installs_the_kinds_that_it_reconciles(client: Client, namespace: str) -> None:
    class NewSpec(kw.Model):
        size: Annotated[int, kw.Range(0, 3)]

    @kw.resource("running.example.com/v1")
    class Newcomer(kw.Resource[NewSpec, None]):
        """A kind that the server does not know yet."""

    operator = Operator("installer", namespaces=[namespace])

    @operator.reconciles(Newcomer)
    async def sync(obj: Newcomer, ctx: Context[Newcomer]) -> None: ...

    async with operator.running(client) as running:
        metadata = meta.ObjectMeta(name="a", namespace=namespace)
        await settled(running, await client.create(Newcomer(metadata=metadata, spec=NewSpec(size=1))))
        with pytest.raises(Invalid, match=r"spec\.size"):
            await client.create(Newcomer(metadata=metadata, spec=NewSpec(size=4)))


@pytest.mark.promise("What wakes a reconciler", "Two operators in one process know nothing of each other.")
async def test_two_operators_in_one_process_are_independent(client: Client, namespace: str) -> None:
    seen: list[str] = []
    operators = [Operator(name, namespaces=[namespace]) for name in ("left", "right")]
    for operator in operators:

        @operator.reconciles(core.ConfigMap)
        async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap], name: str = operator.name) -> None:
            seen.append(name)

    async with operators[0].running(client, install_crds=False) as left, operators[1].running(client) as right:
        made = await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="c", namespace=namespace)))
        await settled(left, made)
        await settled(right, made)
    assert sorted(seen) == ["left", "right"]


async def test_passes_clock_and_rng_to_the_client(control_plane: ControlPlane) -> None:
    clock, rng = SystemClock(), random.Random(7)
    operator = Operator("exact", clock=clock, rng=rng)

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    async with operator.running(control_plane) as running:
        assert running.client._clock is clock
        assert running.client._rng is rng


# As programs


@asynccontextmanager
async def program(*arguments: str, log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of its own, ended at the end in any case."""
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stderr=output, stdout=output, cwd=REPOSITORY
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def logged(log: Path, text: str) -> None:
    async def found() -> bool:
        return text in await asyncio.to_thread(log.read_text)

    try:
        await until(found)
    except TimeoutError:
        content = await asyncio.to_thread(log.read_text)
        raise AssertionError(f"{text!r} is not in the log:\n{content}") from None


@pytest.mark.promise("Running an operator", "`kubewright run` works until SIGTERM or SIGINT.")
@pytest.mark.usefixtures("foos")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_kubewright_run_runs_until_a_signal(
    control_plane: ControlPlane, client: Client, namespace: str, tmp_path: Path, number: signal.Signals
) -> None:
    log = tmp_path / "log"
    arguments = ["-m", "kubewright.cli", "run", str(EXAMPLE / "foo.py"), "-n", namespace]
    foo = {"apiVersion": "example.com/v1alpha1", "kind": "Foo", "metadata": {"name": "f"},
           "spec": {"deploymentName": "web"}}  # fmt: skip
    async with program(*arguments, "--kubeconfig", str(control_plane.kubeconfig), log=log) as process:
        await logged(log, "operator sample-controller has started")
        await client.request("POST", f"/apis/example.com/v1alpha1/namespaces/{namespace}/foos", body=foo)
        await until(lambda: events(client, namespace, "Synced"))
        process.send_signal(number)
        assert await process.wait() == 0
    assert f"{number.name}: stopping" in log.read_text()


async def test_runs_on_uvloop_and_freezes_caches(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    log, script = tmp_path / "log", tmp_path / "loop.py"
    script.write_text(f"""
import asyncio, gc
import kubewright as kw
from kubewright.api import core

async def tell():
    while not gc.get_freeze_count():
        await asyncio.sleep(0)
    print("running on", type(asyncio.get_running_loop()).__module__, flush=True)
    yield "never/there"

operator = kw.Operator("loop")

@operator.reconciles(core.ConfigMap, triggers=[tell])
async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None: ...

operator.run(kubeconfig={str(control_plane.kubeconfig)!r}, namespaces=[{namespace!r}])
""")
    async with program(str(script), log=log):
        await logged(log, "running on uvloop")


SLOW = """
import asyncio
import kubewright as kw
from kubewright.api import core

operator = kw.Operator("slow")

@operator.reconciles(core.ConfigMap)
async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
    ctx.log.warning("working")
    try:
        await asyncio.sleep({seconds})  # real: in another process
    finally:
        ctx.log.warning("over")

operator.run(kubeconfig={kubeconfig!r}, namespaces=[{namespace!r}])
"""


@pytest.mark.promise("Running an operator", "The first signal lets reconciles finish, the second does not.")
async def test_the_first_signal_lets_a_reconcile_finish_and_the_second_interrupts_it(
    control_plane: ControlPlane, client: Client, namespace: str, tmp_path: Path
) -> None:
    log, script = tmp_path / "log", tmp_path / "slow.py"
    script.write_text(SLOW.format(seconds=3600, kubeconfig=os.fspath(control_plane.kubeconfig), namespace=namespace))
    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="c", namespace=namespace)))
    async with program(str(script), log=log) as process:
        await logged(log, "working")
        process.send_signal(signal.SIGTERM)
        await logged(log, "operator slow is stopping")
        assert process.returncode is None
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == ExitCode.INTERRUPTED
    text = log.read_text()
    assert "SIGTERM: stopping immediately" in text
    assert text.index("the reconcile is interrupted") < text.index("over")


STUCK = """
import logging
import threading
import kubewright as kw
from kubewright.api import core

operator = kw.Operator("stuck")

@operator.reconciles(core.ConfigMap)
def sync(obj: core.ConfigMap, ctx: kw.BlockingContext[core.ConfigMap]) -> None:
    ctx.log.warning("working")
    threading.Event().wait()

operator.run(kubeconfig={kubeconfig!r}, namespaces=[{namespace!r}])
"""


@pytest.mark.promise("Running an operator", "The first signal lets reconciles finish, the second does not.")
async def test_second_signal_ends_process_with_hanging_plain_reconciler(
    control_plane: ControlPlane, client: Client, namespace: str, tmp_path: Path
) -> None:
    log, script = tmp_path / "log", tmp_path / "stuck.py"
    script.write_text(STUCK.format(kubeconfig=os.fspath(control_plane.kubeconfig), namespace=namespace))
    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="c", namespace=namespace)))
    async with program(str(script), log=log) as process:
        await logged(log, "working")
        process.send_signal(signal.SIGTERM)
        await logged(log, "operator stuck is stopping")
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == ExitCode.INTERRUPTED
    assert "reconcile-configmap_0 does not end; exiting without it" in log.read_text()


HANGING = """
import asyncio
import contextlib
import kubewright.operator.process._run  # private: shortens a wait that is not a setting
import kubewright as kw
from kubewright.api import core

operator = kw.Operator("hanging", leader_elect=True, grace=0.1)

@operator.reconciles(core.ConfigMap)
async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None: ...

@contextlib.asynccontextmanager
async def stubborn(running):
    yield
    await asyncio.Event().wait()

operator.attach(stubborn)
kubewright.operator.process._run._SHUTDOWN_SECONDS = 0.2
operator.run(kubeconfig={kubeconfig!r}, namespaces=[{namespace!r}], lease_namespace={namespace!r}, retry_period=0.2)
"""


@pytest.mark.promise("What happens when", "A process that has lost its lease ends, whatever hangs in it.")
async def test_process_that_lost_its_lease_ends_despite_hanging_component(
    control_plane: ControlPlane, client: Client, namespace: str, tmp_path: Path
) -> None:
    log, script = tmp_path / "log", tmp_path / "hanging.py"
    script.write_text(HANGING.format(kubeconfig=os.fspath(control_plane.kubeconfig), namespace=namespace))
    async with program(str(script), log=log) as process:
        await logged(log, "operator hanging has started")
        spec = {"holderIdentity": "another", "acquireTime": "2030-01-01T00:00:00.000000Z"}
        await client.patch(Lease, "hanging", MergePatch({"spec": spec}), namespace)
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == ExitCode.LEASE_LOST
    assert "the operator does not stop within 300ms; exiting" in log.read_text()


@pytest.mark.promise("Running an operator", "What keeps it from starting is one line and a failure.")
@pytest.mark.promise("Running an operator", "Exit codes tell why.")
async def test_logs_one_line_for_a_failed_start(control_plane: ControlPlane, tmp_path: Path) -> None:
    log, script = tmp_path / "log", tmp_path / "lost.py"
    script.write_text(
        "import kubewright as kw\n"
        '@kw.resource("nowhere.example.com/v1")\n'
        "class Missing(kw.Resource[dict[str, str], None]): pass\n"
        'operator = kw.Operator("lost", sync_timeout=5)\n'
        "@operator.reconciles(Missing)\n"
        "async def sync(obj: Missing, ctx: kw.Context[Missing]) -> None: ...\n"
    )
    arguments = ["-m", "kubewright.cli", "run", str(script), "--kubeconfig", str(control_plane.kubeconfig)]
    async with program(*arguments, log=log) as process:
        assert await process.wait() == ExitCode.NOT_READY
    text = log.read_text()
    assert "does not serve missings.nowhere.example.com" in text.splitlines()[-1]
    assert "Traceback" not in text
