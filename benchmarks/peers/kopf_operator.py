"""The benchmark's operator on kopf.

An event handler rather than one for creation and update: those would write an annotation to each object to remember it
by, which the others do not. kopf has no client for children; kubernetes_asyncio makes them. Its own limit of workers
keeps each worker for seconds after its work, so the number of concurrent handlers is limited here. It serves its
liveness probe; it has no metrics page, and its peering is not a Lease, so it runs alone.
"""

import asyncio
import contextlib
import os

import kopf

from benchmarks.peers.arguments import operator_arguments
from benchmarks.peers.protocol import Progress
from benchmarks.samples import GROUP, PLURAL, VERSION, WRITTEN

arguments = operator_arguments()
os.environ["KUBECONFIG"] = arguments.kubeconfig
progress = Progress(arguments.objects, arguments.writes)
places = asyncio.Semaphore(arguments.workers)
children: set[tuple[str, str]] = set()


@kopf.on.startup()
async def configure(settings: kopf.OperatorSettings, **_: object) -> None:
    settings.posting.enabled = False
    settings.scanning.disabled = True


@kopf.on.login()
def log_in(**details: object) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**details)  # of its ways, the one that needs no further library


@kopf.on.event(GROUP, VERSION, PLURAL)
async def reconcile(event, body, patch, namespace: str, name: str, **_: object) -> None:
    if event["type"] == "DELETED":
        return
    progress.began()
    async with places:
        if arguments.work:
            await make_child(body, namespace, name)
            if body.get("status", {}).get("availableReplicas") != 1:
                # kopf sends the patch after this function; the object is done when its new status comes back.
                patch.status["availableReplicas"] = 1
                return
    progress.reconciled((namespace, name), body.metadata.annotations.get(WRITTEN))


async def make_child(body: kopf.Body, namespace: str, name: str) -> None:
    if (namespace, name) in children:
        return
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"deploymentName": body.spec["deploymentName"]},
    }
    kopf.append_owner_reference(child, owner=body)
    with contextlib.suppress(kubernetes_asyncio.client.exceptions.ApiException):
        await core.create_namespaced_config_map(namespace, child)
    children.add((namespace, name))


async def main() -> None:
    global core
    if arguments.work:
        await kubernetes_asyncio.config.load_kube_config(arguments.kubeconfig)
        core = kubernetes_asyncio.client.CoreV1Api()
    await kopf.operator(
        namespaces=[arguments.namespace], standalone=True, liveness_endpoint="http://127.0.0.1:0/healthz"
    )


if arguments.work:  # its memory counts only where it is needed
    import kubernetes_asyncio
    import kubernetes_asyncio.client
    import kubernetes_asyncio.config

asyncio.run(main())
