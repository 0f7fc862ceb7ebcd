"""One replica of the toys' operator, as a process: `kubewright run tests/faults/replica.py`.

The environment says which namespace it looks after (TOYS_NAMESPACE) and what it writes into children (TOYS_WORD). What
it does is reported on standard output, as lines of JSON: what, the toy's name, its uid and its generation; and which
writes the fence has let through, in the last moment before they are sent, with the time at which it was asked. It obeys
its standard input: after the line `store` it tells the names, uids and versions in its caches, after `load` what it
needs.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from kubewright.api import core
from kubewright.election import Fence
from kubewright.operator import Running
from tests.faults.toys import Journal, Toy, informer_of, toy_operator


def tell(*words: object) -> None:
    print(json.dumps(words), flush=True)


class RemoteJournal(Journal):
    """A journal in another process."""

    @contextmanager
    def working_on(self, toy: Toy, what: str = "reconcile") -> Iterator[None]:
        metadata = toy.metadata
        tell("begin", what, metadata.name, metadata.uid, metadata.generation)
        ended = "failed"
        try:
            yield
            ended = "done"
        finally:
            tell(ended, what, metadata.name, metadata.uid, metadata.generation)


def reporting(check: Callable[[Fence, str], float]) -> Callable[[Fence, str], float]:
    def checked(fence: Fence, what: str = "this write") -> float:
        began = time.clock_gettime(time.CLOCK_BOOTTIME)
        left = check(fence, what)
        tell("let through", what, began)
        return left

    return checked


# To hear of each write at the moment that decides.
setattr(Fence, "check", reporting(Fence.check))  # noqa: B010

journal = RemoteJournal()
journal.word = os.environ["TOYS_WORD"]
operator = toy_operator(os.environ["TOYS_NAMESPACE"], journal)


@asynccontextmanager
async def obeying(running: Running) -> AsyncIterator[None]:
    tell("ready")
    task = asyncio.create_task(obey(running))
    yield
    task.cancel()


@asynccontextmanager
async def leading(running: Running) -> AsyncIterator[None]:
    tell("leading")
    yield


operator.attach(obeying)
operator.attach(leading, stage="leader")


async def obey(running: Running) -> None:
    commands = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := await commands.readline():
        match line.decode().split():
            case ["store"]:
                tell("store", store(running, Toy), store(running, core.ConfigMap))
            case ["load"]:
                tell("load", needs(running))


def store(running: Running, kind: Any) -> dict[str, list[str]]:
    snapshots = informer_of(running, kind).lister.snapshots()
    return {found.key.name: [found.uid, str(found.resource_version)] for found in snapshots}


def needs(running: Running) -> dict[str, int]:
    """What the process needs and does, as numbers. Memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "memory": pages * os.sysconf("SC_PAGE_SIZE") >> 20,
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),
        "files": len(os.listdir("/proc/self/fd")),
        "waiting": sum(len(controller.queue) for controller in running.controllers),
        "reconciles": sum(controller.stats.reconciles.total() for controller in running.controllers),
    }
