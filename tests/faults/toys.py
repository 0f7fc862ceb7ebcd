"""The operator that the fault tests disturb, what it is called for, and ways to wait for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import kubewright as kw
from kubewright.api import Object, core, meta
from kubewright.cache import Informer, WatchHealth
from kubewright.client import Client, NotFound
from kubewright.operator import Operator, Running
from tests.patience import until

R = TypeVar("R", bound=Object)


class ToySpec(kw.Model):
    size: int = 0


class ToyStatus(kw.Model):
    observed_generation: int = 0


@kw.resource("faults.example.com/v1")
class Toy(kw.Resource[ToySpec, ToyStatus]):
    """Something to look after."""


def toy(name: str, namespace: str, size: int = 0) -> Toy:
    return Toy(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=ToySpec(size=size))


def has_child(name: str) -> bool:
    """Whether a toy has a child; of a crowd of toys (`toy-0123`) one in five has, to keep the server's work small."""
    return not name.startswith("toy-") or name.endswith(("0", "5"))


class Journal:
    """What the operator's functions were called for. Raises when a key is worked on twice at once."""

    def __init__(self) -> None:
        self.at_work: set[str] = set()
        self.twice_at_once: list[str] = []
        self.reconciled: Counter[str] = Counter()
        self.finalized: Counter[str] = Counter()
        self.after_its_end: list[str] = []
        self.deleted: dict[str, Toy] = {}
        self.word = "first"
        """Written into every child, so that a test can ask for a write by changing it."""

    @contextmanager
    def working_on(self, toy: Toy, what: str = "reconcile") -> Iterator[None]:
        name = toy.metadata.name
        if name in self.at_work:
            self.twice_at_once.append(name)
        if toy.metadata.uid in self.finalized:
            self.after_its_end.append(name)
        self.at_work.add(name)
        try:
            yield
        finally:
            self.at_work.discard(name)
        self.reconciled[name] += 1


def toy_operator(namespace: str, journal: Journal, *, finalizes: bool = True, **options: Any) -> Operator:
    """Toys have a ConfigMap with their size, and say in their status for which generation that is true."""
    operator = Operator("toys", namespaces=[namespace], **options)

    @operator.reconciles(Toy, owns=[core.ConfigMap])
    async def sync(toy: Toy, ctx: kw.Context[Toy]) -> None:
        with journal.working_on(toy):
            if has_child(toy.metadata.name):
                data = {"size": str(toy.spec.size), "word": journal.word}
                await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=toy.metadata.name), data=data))
            await ctx.set_status(ToyStatus(observed_generation=toy.metadata.generation))

    @operator.deleted(Toy)
    async def gone(toy: Toy, ctx: kw.Context[Toy]) -> None:
        journal.deleted[toy.metadata.name] = toy

    if finalizes:

        @operator.finalizes(Toy)
        async def clean_up(toy: Toy, ctx: kw.Context[Toy]) -> None:
            with journal.working_on(toy, "finalize"):
                if has_child(toy.metadata.name):
                    await ctx.delete(core.ConfigMap, toy.metadata.name)  # there is no garbage collector here
                journal.finalized[toy.metadata.uid] += 1

    return operator


# Waiting


def holds(child: core.ConfigMap, toy: Toy) -> bool:
    return (child.data or {}).get("size") == str(toy.spec.size)


async def reconciled(client: Client, namespace: str, *names: str) -> None:
    """Wait until the status of these toys is of their last generation, and their children hold their size."""

    async def check() -> bool:
        found = {toy.metadata.name: toy for toy in await client.list(Toy, namespace)}
        children = {child.metadata.name: child for child in await client.list(core.ConfigMap, namespace)}
        return all(
            name in found
            and found[name].status.observed_generation == found[name].metadata.generation
            and (not has_child(name) or (name in children and holds(children[name], found[name])))
            for name in names
        )

    await until(check, f"the reconcile of {', '.join(names)}")


async def gone(client: Client, namespace: str, name: str) -> None:
    """Wait until the server does not have that toy any more."""

    async def check() -> bool:
        try:
            await client.get(Toy, name, namespace)
        except NotFound:
            return True
        return False

    await until(check, f"the end of {name}")


# Looking inside


def informer_of(running: Running, kind: type[R]) -> Informer[R]:
    return running.controllers[0]._environment.caches.informer(kind)


def health_of(running: Running, kind: type[Object] = Toy) -> WatchHealth:
    return informer_of(running, kind).health


def metric(operator: Operator, name: str, **labels: str) -> float:
    """The sum of a metric's samples that have these labels."""
    return sum(
        sample.value
        for family in operator.metrics.registry.collect()
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def is_watching(running: Running) -> bool:
    return all(health_of(running, kind).state == "watching" for kind in (Toy, core.ConfigMap))


async def store_equals_server(running: Running, client: Client, namespace: str) -> None:
    """Wait until the stores hold exactly what the server has, in the same versions, and nothing of our own on top."""

    async def check() -> bool:
        for kind in (Toy, core.ConfigMap):
            informer = informer_of(running, kind)
            held = {s.key.name: (s.uid, str(s.resource_version)) for s in informer.lister.snapshots(namespace)}
            listed = await client.list(kind, namespace)
            if held != {o.metadata.name: (o.metadata.uid, o.metadata.resource_version) for o in listed}:
                return False
            if len(informer._overlay):
                return False
        return True

    await until(check, "a store that equals the server")
