"""A definition is deleted while the operator runs, and comes back."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from kubewright import resource
from kubewright.api import Model, Resource, apiextensions, meta
from kubewright.cache import Informer
from kubewright.client import Client
from kubewright.controller import Context
from kubewright.crd import install
from kubewright.operator import Operator, Running
from tests.patience import until

pytestmark = pytest.mark.clusters

NAME = "comets.gone.example.com"


class CometSpec(Model):
    size: int = 0


@resource("gone.example.com/v1")
class Comet(Resource[CometSpec, None]):
    """Comes and goes."""


class Sky:
    """An operator for comets, and what it was called for."""

    def __init__(self, namespace: str, *, finalizes: bool) -> None:
        self.operator = Operator("comets", namespaces=[namespace])
        self.seen: set[tuple[str, int]] = set()
        self.cleaned_up: set[str] = set()
        self.deleted: set[str] = set()

        @self.operator.reconciles(Comet)
        async def sync(comet: Comet, ctx: Context[Comet]) -> None:
            self.seen.add((comet.metadata.name, comet.spec.size))

        @self.operator.deleted(Comet)
        async def gone(comet: Comet, ctx: Context[Comet]) -> None:
            self.deleted.add(comet.metadata.name)

        if finalizes:

            @self.operator.finalizes(Comet)
            async def clean_up(comet: Comet, ctx: Context[Comet]) -> None:
                self.cleaned_up.add(comet.metadata.name)

    async def sees(self, *expected: tuple[str, int]) -> None:
        await holds(lambda: self.seen.issuperset(expected))


async def holds(condition: Callable[[], bool]) -> None:
    async def check() -> bool:
        return condition()

    await until(check)


def informer_of(running: Running) -> Informer[Comet]:
    assert running.caches is not None
    [informer] = running.caches.informers
    return informer


async def make(client: Client, namespace: str, *names: str, size: int) -> None:
    for name in names:
        comet = Comet(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=CometSpec(size=size))
        await client.create(comet)


async def take_away(client: Client) -> None:
    await client.delete(apiextensions.CustomResourceDefinition, NAME)
    await client.wait_until_gone(apiextensions.CustomResourceDefinition, NAME)


@pytest.mark.promise(
    "What happens when",
    "A definition that is deleted and comes back needs no restart; its objects are cleaned up first, and read again "
    "afterwards.",
)
async def test_a_definition_that_is_deleted_and_comes_back_needs_no_restart(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    sky = Sky(namespace, finalizes=False)
    await install(client, Comet)
    with caplog.at_level(logging.INFO, "kubewright"):
        async with sky.operator.running(client) as running:
            informer = informer_of(running)
            await make(client, namespace, "halley", "encke", size=1)
            await sky.sees(("halley", 1), ("encke", 1))
            await take_away(client)
            await holds(lambda: "does not serve" in informer.health.last_error)
            await holds(lambda: sky.deleted == {"halley", "encke"})
            assert informer.lister.keys() == []
            assert informer.synced, "a kind that was served once does not block"

            await install(client, Comet)
            await make(client, namespace, "halley", "biela", size=2)
            await sky.sees(("halley", 2), ("biela", 2))
    assert f"the server does not serve {NAME} in version v1: install its definition first; retrying in" in caplog.text
    assert "watching again" in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.promise(
    "What happens when",
    "A definition that is deleted and comes back needs no restart; its objects are cleaned up first, and read again "
    "afterwards.",
)
@pytest.mark.clusters("embedded")  # the real server looks every 5 s whether the last object is gone
async def test_the_objects_of_a_definition_that_is_deleted_are_cleaned_up_first(client: Client, namespace: str) -> None:
    sky = Sky(namespace, finalizes=True)
    await install(client, Comet)
    async with sky.operator.running(client):
        await make(client, namespace, "halley", "encke", size=1)
        await sky.sees(("halley", 1), ("encke", 1))
        await take_away(client)
        assert sky.cleaned_up == {"halley", "encke"}
