"""A program: an operator whose kube-apiserver is paused for a minute. Prints what it saw, as one line of JSON.

A program of its own, so that the minute passes while other tests run.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from kubewright.api import core, meta
from kubewright.cache import Informer
from kubewright.client import Client, MergePatch
from kubewright.testing import ControlPlane
from tests.faults.toys import Journal, Toy, health_of, is_watching, reconciled, store_equals_server, toy, toy_operator
from tests.patience import PATIENCE, until

PAUSE = 60.0
STALL = 20.0


async def main() -> dict[str, Any]:
    saw: dict[str, Any] = {}
    journal = Journal()
    async with ControlPlane() as plane, Client.connect(kubeconfig=plane.kubeconfig) as client:
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="quiet")))
        operator = toy_operator("quiet", journal)
        async with (
            operator.running(client) as running,
            Informer(client, Toy, namespaces=["quiet"], stall_timeout=STALL) as attentive,
        ):
            await client.create(toy("before", "quiet"))
            await client.create(toy("changing", "quiet"))
            await reconciled(client, "quiet", "before", "changing")
            await attentive.wait_for_sync(PATIENCE)

            paused_at = time.monotonic()
            plane.pause_apiserver()
            journal.word = "during the pause"
            running.enqueue(Toy, "quiet/before")
            await until(lambda: "before" in journal.at_work, "a reconcile during the pause")
            await until(lambda: attentive.health.stalls > 0, "the watchdog")
            saw["stalled"] = attentive.health.last_error
            saw["state while stalled"] = attentive.health.state
            saw["read while stalled"] = [key.name for key in attentive.lister.keys()]  # noqa: SIM118
            await asyncio.sleep(paused_at + PAUSE - time.monotonic())  # real: a minute in another process
            plane.resume_apiserver()
            saw["paused for"] = time.monotonic() - paused_at

            await client.patch(Toy, "changing", MergePatch({"spec": {"size": 1}}), "quiet")
            await client.create(toy("after", "quiet"))
            await reconciled(client, "quiet", "before", "changing", "after")
            child = await client.get(core.ConfigMap, "before", "quiet")
            await until(lambda: is_watching(running) and attentive.health.state == "watching", "the watches")
            await store_equals_server(running, client, "quiet")
            await until(lambda: len(attentive.lister) == 3, "the cache that had stalled")
            saw["written in the end"] = child.data
            saw["stalls of the patient"] = health_of(running).stalls
            saw["error in the end"] = attentive.health.last_error
            saw["twice at once"] = journal.twice_at_once
    return saw


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))
