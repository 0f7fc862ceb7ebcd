"""Lists with kubernetes_asyncio: pods as its typed objects, custom resources as the dicts it has for them."""

import asyncio

from kubernetes_asyncio import client, config

from benchmarks.peers.arguments import list_arguments
from benchmarks.peers.protocol import listed, ready
from benchmarks.samples import GROUP, PLURAL, VERSION


async def fetch_typed(core: client.CoreV1Api, page_size: int) -> list[object]:
    objects: list[object] = []
    token = None
    while True:
        more = {"_continue": token} if token else {}
        page = await core.list_pod_for_all_namespaces(limit=page_size, **more)
        objects.extend(page.items)
        token = page.metadata._continue
        if not token:
            return objects


async def fetch_dicts(custom: client.CustomObjectsApi, page_size: int) -> list[object]:
    objects: list[object] = []
    token = ""
    while True:
        page = await custom.list_cluster_custom_object(GROUP, VERSION, PLURAL, limit=page_size, _continue=token)
        objects.extend(page["items"])
        token = page["metadata"].get("continue")
        if not token:
            return objects


async def main() -> None:
    arguments = list_arguments()
    await config.load_kube_config(arguments.kubeconfig)
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        ready((await core.list_namespace()).items)
        if arguments.kind == "foos":
            listed(await fetch_dicts(client.CustomObjectsApi(api), arguments.page_size))
        else:
            listed(await fetch_typed(core, arguments.page_size))


asyncio.run(main())
