"""Toys that are created, changed and deleted at random, from a seed, also while the server is disturbed."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Literal

from kubewright.client import AlreadyExists, ApiError, Client, MergePatch, NotFound
from tests.faults.toys import Toy, toy

_LANES = 8


@dataclass(frozen=True, slots=True)
class Action:
    """One action on one toy."""

    what: Literal["create", "change", "delete"]
    name: str
    size: int


def plan(rng: random.Random, toys: int, chunks: int, others: int) -> list[list[Action]]:
    """Chunks of actions: in all of them together so many toys are created, and in each so much else is done."""
    names = [f"toy-{number:04}" for number in range(toys)]
    rng.shuffle(names)
    there: list[str] = []
    planned = []
    for chunk in range(chunks):
        new = names[chunk * toys // chunks : (chunk + 1) * toys // chunks]
        actions = [Action("create", name, rng.randrange(1000)) for name in new]
        there += new
        actions += [_action(rng, rng.choice(there)) for _ in range(others)]
        rng.shuffle(actions)
        planned.append(actions)
    return planned


def _action(rng: random.Random, name: str) -> Action:
    return Action(rng.choices(("change", "delete", "create"), (10, 4, 2))[0], name, rng.randrange(1000))


async def delete(client: Client, toy: Toy) -> None:
    """Delete a toy in the very state that was read; raises `Conflict` when it has another one by now.

    Without that, kube-apiserver lets an object go without its clean-up when its first finalizer is added in the same
    moment: it looks for finalizers, and then deletes whatever is there.
    """
    await client.delete(toy, resource_version=toy.metadata.resource_version)


class Load:
    """Does actions, those on one toy in their order, until the server has done each of them or they make no sense."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.done = 0

    async def run(self, actions: list[Action]) -> None:
        lanes: list[list[Action]] = [[] for _ in range(_LANES)]
        for action in actions:
            lanes[int(action.name.rpartition("-")[2]) % _LANES].append(action)
        async with asyncio.TaskGroup() as group:
            for lane in lanes:
                group.create_task(self._run(lane))

    async def _run(self, lane: list[Action]) -> None:
        for action in lane:
            await self._insist(action)
            self.done += 1

    async def _insist(self, action: Action) -> None:
        while True:
            try:
                return await self._do(action)
            except (AlreadyExists, NotFound):
                return None  # still going, or gone already; or done the first time, and the answer was lost
            except ApiError:
                await asyncio.sleep(0.1)  # real: the server, another process, is away

    async def _do(self, action: Action) -> None:
        match action.what:
            case "create":
                await self._client.create(toy(action.name, self._namespace, action.size))
            case "change":
                patch = MergePatch({"spec": {"size": action.size}})
                await self._client.patch(Toy, action.name, patch, self._namespace)
            case "delete":
                await delete(self._client, await self._client.get(Toy, action.name, self._namespace))
