"""The sample-controller by hand, as the client-go tutorials do it: without `Operator`.

Two shared informers feed one rate-limited queue with keys. Two workers take keys from it, read the objects from the
listers, and make the Deployment match the Foo. `foo.py` beside this file is the same with the reconcile loop,
ownership, server-side apply and much else done for you; this is for when you want the parts alone.

    python by_hand.py --kubeconfig ~/.kube/config
"""

import argparse
import asyncio
import logging
import signal

from foo import Foo, nginx_deployment

from kubewright.api import apps, info_of, is_controlled_by, set_controller
from kubewright.cache import Caches, Change, ObjectKey
from kubewright.client import Client, MergePatch
from kubewright.controller import owner_keys
from kubewright.events import EventRecorder
from kubewright.queue import LOW_PRIORITY, ExponentialBackoff, MaxOf, TokenBucket, WorkQueue

log = logging.getLogger("sample-controller")


class ResourceExists(Exception):
    """There is a Deployment of that name, and it is not ours."""


class FooController:
    """Keeps one Deployment for each Foo."""

    def __init__(self, client: Client, *, namespaces: tuple[str, ...] = ()) -> None:
        self.client = client
        self.recorder = EventRecorder(client, component="sample-controller")
        # One watch for each kind, however many listen to it.
        self.caches = Caches(client, namespaces=namespaces)
        self.foos = self.caches.informer(Foo)
        self.deployments = self.caches.informer(apps.Deployment)
        # Failing keys back off, each for itself; all retries together are limited too.
        self.queue: WorkQueue[ObjectKey] = WorkQueue(
            "foos", rate_limiter=MaxOf(ExponentialBackoff(0.005, 1000), TokenBucket(50, 300))
        )
        self.foos.add_handler(self.foo_changed, resync=30)
        self.deployments.add_handler(self.deployment_changed)

    # Handlers are called in the watch loop: they put a key in the queue, and return.

    def foo_changed(self, change: Change[Foo]) -> None:
        """A Foo is there, was changed or is gone: look at it. Live changes go before what was there anyway."""
        background = change.initial or change.type == "resync"
        self.queue.add(change.key, priority=LOW_PRIORITY if background else 0)

    def deployment_changed(self, change: Change[apps.Deployment]) -> None:
        """A Deployment was changed: look at the Foo that controls it, or did so before the change."""
        for key in owner_keys(change, info_of(Foo)):
            self.queue.add(key, priority=LOW_PRIORITY if change.initial else 0)

    async def run(self, workers: int = 2) -> None:
        """Work until cancelled."""
        async with self.recorder, self.caches:
            # Not before the caches are full: a Deployment that we have not heard of yet must not count as missing.
            await self.caches.wait_for_sync(timeout=30)
            log.info("caches in sync; starting %d workers", workers)
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(workers):
                        tasks.create_task(self.work())
            finally:
                self.queue.shutdown(drain=False)

    async def work(self) -> None:
        """Take keys one after the other. The queue never hands out a key that another worker still has."""
        async for key in self.queue:
            with self.queue.processing(key):
                try:
                    await self.sync(key)
                except Exception:
                    log.exception("%s failed; trying again later", key)
                    self.queue.add_rate_limited(key)
                else:
                    self.queue.forget(key)

    async def sync(self, key: ObjectKey) -> None:
        """Make the world match one Foo."""
        foo = self.foos.lister.get_key(key)
        if foo is None or foo.metadata.deletion_timestamp is not None:
            return  # its Deployment goes with it: that is what the owner reference is for
        if not foo.spec.deployment_name:
            log.error("%s: deploymentName must be specified", key)
            return  # trying again would not help

        changed = False
        deployment = self.deployments.lister.get(foo.spec.deployment_name, key.namespace)
        if deployment is None:
            deployment = nginx_deployment(foo)
            set_controller(deployment, owner=foo)
            deployment = await self.client.create(deployment)
            self.deployments.written(deployment)  # so that the next sync sees it, whatever the watch is doing
            changed = True
        if not is_controlled_by(deployment, foo):
            message = f'Resource "{deployment.metadata.name}" already exists and is not managed by Foo'
            self.recorder.record(foo, "ErrResourceExists", message, type="Warning")
            raise ResourceExists(message)

        # What a lister returns is ours alone: it can be changed, and `update` sends just the difference.
        if foo.spec.replicas is not None and deployment.spec.replicas != foo.spec.replicas:
            deployment.spec.replicas = foo.spec.replicas
            deployment = await self.client.update(deployment)
            self.deployments.written(deployment)
            changed = True

        available = deployment.status.available_replicas or 0
        if changed or foo.status.available_replicas != available:
            patch = MergePatch({"status": {"availableReplicas": available}})
            self.foos.written(await self.client.patch(Foo, key.name, patch, key.namespace, subresource="status"))
            self.recorder.record(foo, "Synced", "Foo synced successfully")


async def main() -> None:
    """Run until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="The sample-controller, by hand.")
    parser.add_argument("--kubeconfig", help="the file that names the cluster")
    parser.add_argument("--master", help="the API server's address")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    async with Client.connect(kubeconfig=arguments.kubeconfig, server=arguments.master) as client:
        running = asyncio.create_task(FooController(client).run())
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, running.cancel)
        try:
            await running
        except asyncio.CancelledError:
            log.info("stopped")


if __name__ == "__main__":
    asyncio.run(main())
