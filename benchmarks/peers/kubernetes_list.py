"""Lists with the official client: pods as its typed objects, custom resources as the dicts it has for them."""

from kubernetes import client, config

from benchmarks.peers.arguments import list_arguments
from benchmarks.peers.protocol import listed, ready
from benchmarks.samples import GROUP, PLURAL, VERSION


def fetch_typed(core: client.CoreV1Api, page_size: int) -> list[object]:
    objects: list[object] = []
    token = None
    while True:
        page = core.list_pod_for_all_namespaces(limit=page_size, _continue=token)
        objects.extend(page.items)
        token = page.metadata._continue
        if not token:
            return objects


def fetch_dicts(page_size: int) -> list[object]:
    custom = client.CustomObjectsApi()
    objects: list[object] = []
    token = ""
    while True:
        page = custom.list_cluster_custom_object(GROUP, VERSION, PLURAL, limit=page_size, _continue=token)
        objects.extend(page["items"])
        token = page["metadata"].get("continue")
        if not token:
            return objects


def main() -> None:
    arguments = list_arguments()
    config.load_kube_config(arguments.kubeconfig)
    core = client.CoreV1Api()
    ready(core.list_namespace().items)
    if arguments.kind == "foos":
        listed(fetch_dicts(arguments.page_size))
    else:
        listed(fetch_typed(core, arguments.page_size))


main()
