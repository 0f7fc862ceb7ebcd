"""One replica of the toys' operator, as a process: `kubewright run tests/faults/replica.py`.

The environment says which namespace it looks after (TOYS_NAMESPACE) and what it writes into children (TOYS_WORD). What
it does is told on standard output, as lines of JSON: what, the toy's name, its uid and its generation. It obeys its
standard input: after the line `store` it tells the names, uids and versions in its caches, after `load` how many tasks,
threads and open files it has.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from kubewright.api import core
from kubewright.operator import Running
from tests.faults.toys import Journal, Toy, informer_of, toy_operator


def tell(*words: object) -> None:
    print(json.dumps(words), flush=True)


class Told(Journal):
    """A journal that another process keeps."""

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


journal = Told()
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
                files = len(os.listdir("/proc/self/fd"))
                tell("load", len(asyncio.all_tasks()), threading.active_count(), files)


def store(running: Running, kind: Any) -> dict[str, list[str]]:
    snapshots = informer_of(running, kind).lister.snapshots()
    return {found.key.name: [found.uid, str(found.resource_version)] for found in snapshots}
