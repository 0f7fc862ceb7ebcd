"""Runs an operator and its cluster in one process: `make demo`.

Starts the embedded cluster with workloads, opens a port for kubectl, runs the operator of `foo.py`, applies
`example-foo.yaml`, and prints what happens until Ctrl-C. A web console shows the same. With `--once` it exits as
soon as the Foo is ready, or with status 1 after a minute.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import yaml
from foo import Foo, operator

from kubewright.api import apps, core, from_dict
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.cluster.nodes import PodPlan
from kubewright.cluster.workloads import Workloads
from kubewright.operator import Running

SAMPLE = Path(__file__).with_name("example-foo.yaml")
# Slow enough to see each step: scheduling, pulling the image, the first successful probe.
PODS = PodPlan(schedule_delay=0.3, start_delay=0.6, ready_delay=0.6, stop_delay=0.5)


async def demo(*, once: bool, patience: float) -> int:
    """Runs the demo from the empty cluster to the end. Returns the exit status."""
    begin = time.monotonic()
    async with Cluster(workloads=Workloads(plan=PODS)) as cluster:
        url = await cluster.serve()
        client = cluster.client(namespace="default")
        say(f"A Kubernetes API server with workloads is ready at {url}")
        async with operator.running(client) as running:
            say(f"The operator {operator.name} runs in the same process and has installed the CRD of Foo")
            sample = from_dict(Foo, yaml.safe_load(SAMPLE.read_text()))
            await client.apply(sample, field_manager="demo")
            say(f"Applied {SAMPLE.name}. What happens now:\n")
            async with shown_changes(client):
                try:
                    async with asyncio.timeout(patience):
                        await converged(client, sample)
                except TimeoutError:
                    print(f"The Foo was not ready within {patience:g} seconds.", file=sys.stderr)
                    return 1
                print(flush=True)
                say(f"The Foo is ready, {time.monotonic() - begin:.1f} s after the start")
                if not once:
                    async with web_console(cluster, running) as page:
                        await until_stopped(cluster, page)
    return 0


async def converged(client: Client, sample: Foo) -> None:
    """Waits until the Foo reports as many available replicas as its spec has."""
    async for event in client.watch(Foo, fields=f"metadata.name={sample.metadata.name}"):
        if event.type != "DELETED" and event.object.status.available_replicas == sample.spec.replicas:
            return


@contextlib.asynccontextmanager
async def web_console(cluster: Cluster, running: Running) -> AsyncIterator[str]:
    """Serves the web console of the cluster and the operator. Yields the URL that signs you in."""
    if importlib.util.find_spec("nicegui") is None:
        yield "(not installed: pip install 'kubewright[console]')"
        return
    from kubewright.console import Console
    from kubewright.console.operators import InProcess

    console = Console(cluster.client(), name="demo", operators=[InProcess(running)])
    async with console, console.serving() as url:
        yield f"{url}{console.invitation()}"


async def until_stopped(cluster: Cluster, page: str) -> None:
    """Prints what to try next, and waits for Ctrl-C."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    print(f"""
Open the console in your browser. You can change the Foo there:

  {page}

Or use another terminal. Changes are printed here:

  export KUBECONFIG={shlex.quote(str(cluster.kubeconfig()))}
  kubectl get foos,deployments,pods
  kubectl patch foo example-foo --type=merge --patch '{{"spec": {{"replicas": 3}}}}'

Ctrl-C stops the operator and the cluster.
""")
    sys.stdout.flush()
    await stopped.wait()
    say("Stopped")


# Output


@contextlib.asynccontextmanager
async def shown_changes(client: Client) -> AsyncIterator[None]:
    """Prints a line for each visible change of an object while the block runs."""
    kinds = (Foo, apps.Deployment, apps.ReplicaSet, core.Pod)
    tasks = [asyncio.create_task(show_changes(client, kind)) for kind in kinds]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def show_changes(client: Client, kind: type[Any]) -> None:
    """Prints the state of each object of a kind whenever it changes."""
    looks: dict[str, str] = {}
    async for event in client.watch(kind):
        name = event.object.metadata.name
        look = "deleted" if event.type == "DELETED" else look_of(event.object)
        if looks.get(name) != look:
            looks[name] = look
            print(f"  {dim(f'{kind.__name__:<11}')} {name:<32} {look}", flush=True)


def look_of(obj: Any) -> str:
    """Returns the state of an object in a few words."""
    match obj:
        case Foo():
            return f"{obj.status.available_replicas} of {obj.spec.replicas} replicas available"
        case apps.Deployment():
            updated, available = obj.status.updated_replicas or 0, obj.status.available_replicas or 0
            return f"{updated} up to date, {available} available, {obj.spec.replicas} wanted"
        case apps.ReplicaSet():
            ready = obj.status.ready_replicas or 0 if obj.status else 0
            return f"{ready} ready, {obj.spec.replicas} wanted"
        case _:
            where = f" on {obj.spec.node_name}" if obj.spec.node_name else ", waiting for a node"
            if obj.metadata.deletion_timestamp is not None:
                return f"Terminating{where}"
            ready = any(each.type == "Ready" and each.status == "True" for each in obj.status.conditions or ())
            return f"{obj.status.phase or 'Pending'}{where}{', ready' if ready else ''}"


def say(text: str) -> None:
    """Prints a step of the demo."""
    print(bold(f"▸ {text}"), flush=True)


def bold(text: str) -> str:
    """Returns the string in bold on a terminal."""
    return f"\033[1m{text}\033[0m" if _is_terminal() else text


def dim(text: str) -> str:
    """Returns the string dimmed on a terminal."""
    return f"\033[2m{text}\033[0m" if _is_terminal() else text


def _is_terminal() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Runs an operator on an embedded cluster.")
    parser.add_argument("--once", action="store_true", help="exit when the sample is ready")
    parser.add_argument("--patience", type=float, default=60.0, metavar="SECONDS", help="default: 60")
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(asyncio.run(demo(once=given.once, patience=given.patience)))
    sys.exit(130)
