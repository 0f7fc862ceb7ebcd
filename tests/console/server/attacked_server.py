"""A console in its own process, with little memory: `python attacked_server.py [CERTIFICATE KEY]`.

Writes its URL to standard output, and stops when standard input closes.
"""

from __future__ import annotations

import asyncio
import resource
import sys

from kubewright.cluster import Cluster
from kubewright.console import Console

ADDRESS_SPACE = 4 << 30


async def main(certificate: str | None = None, key: str | None = None) -> None:
    async with (
        Cluster() as cluster,
        Console(cluster.client()) as console,
        console.serving(certificate=certificate, key=key) as url,
    ):
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    asyncio.run(main(*sys.argv[1:]))
