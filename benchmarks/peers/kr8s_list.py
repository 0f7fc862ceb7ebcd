"""Lists with kr8s: its objects, which keep the JSON as dicts. Its page size is fixed, at 100."""

import kr8s
from kr8s.objects import Namespace, Pod, new_class

from benchmarks.peers.arguments import list_arguments
from benchmarks.peers.protocol import listed, ready
from benchmarks.samples import GROUP, PLURAL, VERSION


def main() -> None:
    arguments = list_arguments()
    foo = new_class("Foo", f"{GROUP}/{VERSION}", asyncio=False, plural=PLURAL)
    api = kr8s.api(kubeconfig=arguments.kubeconfig)
    ready(list(api.get(Namespace)))
    kind = foo if arguments.kind == "foos" else Pod
    listed(list(api.get(kind, namespace=kr8s.ALL)))


main()
