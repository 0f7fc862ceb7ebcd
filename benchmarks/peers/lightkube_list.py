"""Lists with lightkube: pods as its typed objects, custom resources as its generic resources (dicts inside)."""

from lightkube import Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import Namespace, Pod

from benchmarks.peers.arguments import list_arguments
from benchmarks.peers.protocol import listed, ready
from benchmarks.samples import GROUP, PLURAL, VERSION


def main() -> None:
    arguments = list_arguments()
    foo = create_namespaced_resource(GROUP, VERSION, "Foo", PLURAL)
    client = Client(config=KubeConfig.from_file(arguments.kubeconfig))
    ready(list(client.list(Namespace)))
    kind = foo if arguments.kind == "foos" else Pod
    listed(list(client.list(kind, namespace="*", chunk_size=arguments.page_size)))


main()
