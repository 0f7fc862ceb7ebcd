"""The sample-controller without `Operator`, as the client-go tutorials build it.

Two shared informers add keys to one rate-limited queue. Two workers take keys from it, read the objects from the
listers, and make the Deployment match the Foo. Use this if you need only some of the components; in `foo.py`,
`Operator` does the reconcile loop, ownership, server-side apply and more for you.

    python without_operator.py --kubeconfig ~/.kube/config
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
    """A Deployment of that name exists and belongs to another owner."""


class FooController:
    """Keeps one Deployment in sync for each Foo."""

    def __init__(self, client: Client, *, namespaces: tuple[str, ...] = ()) -> None:
        self.client = client
        self.recorder = EventRecorder(client, component="sample-controller")
        # One watch per kind, shared by all handlers.
        self.caches = Caches(client, namespaces=namespaces)
        self.foos = self.caches.informer(Foo)
        self.deployments = self.caches.informer(apps.Deployment)
        # Each failing key has its own backoff; the token bucket limits all retries together.
        self.queue: WorkQueue[ObjectKey] = WorkQueue(
            "foos", rate_limiter=MaxOf(ExponentialBackoff(0.005, 1000), TokenBucket(50, 300))
        )
        self.foos.add_handler(self.foo_changed, resync=30)
        self.deployments.add_handler(self.deployment_changed)

    # Handlers run in the watch loop: add a key to the queue and return.

    def foo_changed(self, change: Change[Foo]) -> None:
        """Enqueues a Foo that was added, changed or deleted. Live changes come before the initial list and resyncs."""
        background = change.initial or change.type == "resync"
        self.queue.add(change.key, priority=LOW_PRIORITY if background else 0)

    def deployment_changed(self, change: Change[apps.Deployment]) -> None:
        """Enqueues the Foo that controls a changed Deployment, or that controlled it before the change."""
        for key in owner_keys(change, info_of(Foo)):
            self.queue.add(key, priority=LOW_PRIORITY if change.initial else 0)

    async def run(self, workers: int = 2) -> None:
        """Runs until cancelled."""
        async with self.recorder, self.caches:
            # With an incomplete cache, an existing Deployment would look missing.
            await self.caches.wait_for_sync(timeout=30)
            log.info("caches in sync; starting %d workers", workers)
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(workers):
                        tasks.create_task(self.work())
            finally:
                self.queue.shutdown(drain=False)

    async def work(self) -> None:
        """Processes keys one after the other. The queue never gives the same key to two workers."""
        async for key in self.queue:
            with self.queue.processing(key):
                try:
                    await self.sync(key)
                except Exception:
                    log.exception("%s failed; retrying", key)
                    self.queue.add_rate_limited(key)
                else:
                    self.queue.forget(key)

    async def sync(self, key: ObjectKey) -> None:
        """Reconciles one Foo."""
        foo = self.foos.lister.get_key(key)
        if foo is None or foo.metadata.deletion_timestamp is not None:
            return  # the garbage collector deletes its Deployment, because of the owner reference
        if not foo.spec.deployment_name:
            log.error("%s: deploymentName must be specified", key)
            return  # a retry would fail in the same way

        changed = False
        deployment = self.deployments.lister.get(foo.spec.deployment_name, key.namespace)
        if deployment is None:
            deployment = nginx_deployment(foo)
            set_controller(deployment, owner=foo)
            deployment = await self.client.create(deployment)
            self.deployments.written(deployment)  # the next sync sees it even if the watch is behind
            changed = True
        if not is_controlled_by(deployment, foo):
            message = f'Resource "{deployment.metadata.name}" already exists and is not managed by Foo'
            self.recorder.record(foo, "ErrResourceExists", message, type="Warning")
            raise ResourceExists(message)

        # A lister returns a private copy. Change it; `update` sends only the difference.
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
    """Runs until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="The sample-controller, without Operator.")
    parser.add_argument("--kubeconfig", help="path of the kubeconfig")
    parser.add_argument("--master", help="URL of the API server")
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
