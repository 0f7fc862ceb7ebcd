"""The TestResource controller without `Operator`, from the components that the client-go tutorial uses.

The program creates the CRD and polls it until it is established. A shared informer with a local resync adds keys to a
queue; a worker takes keys from it, reads the object from the lister, writes its status and records an event. In
`testresource.py`, `Operator` does all of this.

    python low_level.py --kubeconfig ~/.kube/config
"""

import argparse
import asyncio
import contextlib
import logging
import signal

from testresource import HANDLED, TestResource, sample

from kubewright.api import apiextensions, is_condition_true
from kubewright.cache import Caches, Change, ObjectKey
from kubewright.client import AlreadyExists, Client
from kubewright.crd import crd_of
from kubewright.events import EventRecorder
from kubewright.queue import WorkQueue

log = logging.getLogger("testresource-controller")


async def define(client: Client) -> None:
    """Creates the CRD if it does not exist, and polls it each second, for ten seconds, until it is established."""
    definition = crd_of(TestResource)
    with contextlib.suppress(AlreadyExists):
        await client.create(definition)
    for _ in range(10):
        definition = await client.get(apiextensions.CustomResourceDefinition, definition.metadata.name)
        if is_condition_true(definition.status, "Established"):
            return
        await asyncio.sleep(1)
    raise RuntimeError(f"the CustomResourceDefinition {definition.metadata.name} is not established after 10 seconds")


class TestResourceController:
    """Marks every new TestResource as handled."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.recorder = EventRecorder(client, component="testresource-controller")
        self.caches = Caches(client)
        self.informer = self.caches.informer(TestResource)
        self.queue: WorkQueue[ObjectKey] = WorkQueue("testresources")
        self.informer.add_handler(self.changed, resync=60)

    def changed(self, change: Change[TestResource]) -> None:
        """Runs in the watch loop: adds the key to the queue and returns."""
        self.queue.add(change.key)

    async def run(self) -> None:
        """Installs the CRD, creates the sample, and runs until cancelled."""
        await define(self.client)
        async with self.recorder, self.caches:
            await self.caches.wait_for_sync(timeout=30)  # the error names the kind and the cause
            with contextlib.suppress(AlreadyExists):
                await self.client.create(sample())
            async for key in self.queue:
                with self.queue.processing(key):
                    try:
                        await self.handle(key)
                    except Exception:
                        log.exception("%s failed; retrying", key)
                        self.queue.add_rate_limited(key)
                    else:
                        self.queue.forget(key)

    async def handle(self, key: ObjectKey) -> None:
        """Marks one object as handled."""
        resource = self.informer.lister.get_key(key)
        if resource is None or resource.status == HANDLED:
            return
        # A lister returns a private copy. Change it; `update` sends only the difference.
        resource.status = HANDLED
        self.informer.written(await self.client.update(resource))
        self.recorder.record(resource, "ObjectHandled", "Object is handled by custom controller.")


async def main() -> None:
    """Runs until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="The TestResource controller, without Operator.")
    parser.add_argument("--kubeconfig", help="path of the kubeconfig")
    logging.basicConfig(level=logging.INFO)
    async with Client.connect(kubeconfig=parser.parse_args().kubeconfig) as client:
        running = asyncio.create_task(TestResourceController(client).run())
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, running.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await running


if __name__ == "__main__":
    asyncio.run(main())
