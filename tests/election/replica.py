"""A replica as a process of its own, for the tests that kill and pause one.

Tells what happens to it on its output, a line each. Obeys the lines of its input: `write NAME` makes a ConfigMap by the
fenced client, `bare NAME` by one without a fence; the answer is `wrote NAME` or `refused NAME`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from kubewright.api import ObjectMeta
from kubewright.api.core.v1 import ConfigMap
from kubewright.client import Client
from kubewright.election import LeaderElector, NotLeader

WAITED_FOR: dict[str, Any] = {"lease_duration": 10, "renew_deadline": 8, "retry_period": 0.5}
"""For leases that expire: short, but longer than a pause of some seconds."""


def tell(*words: str) -> None:
    print(*words, flush=True)


async def obey(line: str, fenced: Client, bare: Client) -> None:
    command, name = line.split()
    made = ConfigMap(metadata=ObjectMeta(name=name, namespace=bare.namespace))
    try:
        await (fenced if command == "write" else bare).create(made)
    except NotLeader:
        tell("refused", name)
    else:
        tell("wrote", name)


async def main(kubeconfig: str, namespace: str, identity: str) -> None:
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    async with Client.connect(kubeconfig=kubeconfig, namespace=namespace) as client:
        elector = LeaderElector(
            client,
            "lead",
            identity=identity,
            **WAITED_FOR,
            on_event=lambda event: tell(event.kind, event.leader),
        )
        fenced = elector.fence()
        async with elector:
            while line := await commands.readline():
                await obey(line.decode(), fenced, client)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
