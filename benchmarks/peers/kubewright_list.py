"""Lists as typed objects with Kubewright."""

import asyncio

import kubewright as kw
from benchmarks.peers.arguments import list_arguments
from benchmarks.peers.kubewright_types import Foo
from benchmarks.peers.protocol import listed, ready
from kubewright.api import core


async def main() -> None:
    arguments = list_arguments()
    async with kw.Client.connect(kubeconfig=arguments.kubeconfig) as client:
        ready(await client.list(core.Namespace))
        kind: type[kw.Object] = Foo if arguments.kind == "foos" else core.Pod
        listed(await client.list(kind, page_size=arguments.page_size))


asyncio.run(main())
