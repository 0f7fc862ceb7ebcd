"""The same program with the same plan leaves the same journal, byte for byte."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from kubewright.api import from_dict, info_of
from kubewright.client import MergePatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, User
from kubewright.operator import Running, load_operator

ROOT = Path(__file__).parents[3]
FOO = ROOT / "examples" / "foo" / "foo.py"
OPERATOR = User("system:serviceaccount:default:foo", ("system:masters",))
RUNS = 4


async def story(kill_before: int) -> bytes:
    """Runs the sample controller, kills it before one of its writes, starts it again; returns the journal."""
    clock = VirtualClock()
    async with Cluster(clock=clock, seed="determinism", workloads=True) as cluster:
        lab, client = cluster.lab, cluster.client()
        lab.latency(0.002, jitter=0.001, user=OPERATOR.name)
        runs: list[Running] = []

        async def start() -> Running:
            operator = load_operator(FOO)
            runs.append(operator.running(cluster.client(user=OPERATOR), clock=clock))
            return await clock.run(runs[-1].__aenter__())

        first = await start()
        kind = first.controllers[0].kind
        lab.on_request(lambda _: runs[-1].kill(), user=OPERATOR.name, verb="write", nth=kill_before)
        spec = {"deploymentName": "web", "replicas": 2}
        foo = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
        info = info_of(kind)
        foo |= {"apiVersion": info.api_version, "kind": info.kind}
        await client.create(from_dict(kind, foo))
        await clock.advance(60)
        assert first.killed
        last = await start()
        await client.patch(kind, "web", MergePatch({"spec": {"replicas": 3}}), "default")
        await clock.advance(60)
        await client.delete(kind, "web", "default")
        await clock.advance(60)
        last.kill()
        return msgspec.json.encode([entry.as_dict() for entry in lab.journal])


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "The same program with the same seed and the same faults gives a byte-identical journal.",
)
def test_journal_is_the_same_in_every_run_and_process() -> None:
    command = [sys.executable, "-m", "tests.cluster.laboratory.test_determinism", str(RUNS)]
    environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    printed = [
        subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True, timeout=150
        ).stdout
        for _ in range(2)
    ]
    digests = [line for lines in printed for line in lines.splitlines()]
    assert len(digests) == 2 * RUNS
    assert len(set(digests)) == 1


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        print(hashlib.sha256(asyncio.run(story(kill_before=2))).hexdigest())
