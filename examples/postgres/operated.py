"""`Operated`: a cluster of real pods that the operator runs, and what tests write and read in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from patroni_pods import Pods
from postgres_operator.kinds import Postgresql, State
from waiting import until

from kubewright.api import core, is_condition_true
from kubewright.client import MergePatch


class Operated(Pods):
    """A cluster with the databases of upstream's minimal manifest, run by the operator."""

    async def get(self) -> Postgresql:
        """Returns the custom resource."""
        return await self.client.get(Postgresql, self.name)

    async def change(self, **spec: Any) -> Postgresql:
        """Changes the spec."""
        return await self.client.patch(Postgresql, self.name, MergePatch({"spec": spec}))

    async def annotate(self, name: str, value: str | None) -> None:
        """Sets or removes an annotation of the custom resource."""
        await self.client.patch(Postgresql, self.name, MergePatch({"metadata": {"annotations": {name: value}}}))

    async def running(self, generation: int | None = None) -> Postgresql:
        """Waits until the operator reports that the cluster is as its spec says."""

        async def check() -> Postgresql | None:
            found = await self.get()
            assert found.status.state is not State.INVALID, found.status.message
            is_current = found.status.observed_generation == (generation or found.metadata.generation)
            return found if found.status.state is State.RUNNING and is_current else None

        return await until(check, "the state Running", every=0.5)

    async def until(self, check: Callable[[], Awaitable[bool]], what: str) -> None:
        """Waits for a condition. A failure shows what the operator says."""
        try:
            await until(check, what, every=0.5)
        except AssertionError as error:
            status = (await self.get()).status
            pods = {
                pod.metadata.name: (is_condition_true(pod.status, "Ready"), pod.metadata.deletion_timestamp)
                for pod in await self.pods()
            }
            said = "\n".join([f"{status.state}: {status.message}", f"{pods}", *(await self.events())[-20:]])
            raise AssertionError(f"{error}\n{said}") from None

    async def events(self) -> list[str]:
        """Returns the reasons and messages of the cluster's events, in order."""
        found = [each for each in await self.client.list(core.Event) if each.involved_object.name == self.name]
        return [f"{each.reason}: {each.message}" for each in found]


_ACCESS = {"user": "zalando", "database": "foo"}
_INSERT = "INSERT INTO writes SELECT coalesce(max(number), 0) + 1 FROM writes RETURNING number"


async def write(pods: Operated) -> int:
    """Writes a number through the master Service, and returns it. Retries while no primary is reachable."""
    await pods.query("CREATE TABLE IF NOT EXISTS writes (number int PRIMARY KEY)", **_ACCESS)
    [(number,)] = await pods.query(_INSERT, **_ACCESS)
    return int(number)


async def numbers(pods: Operated) -> list[int]:
    """Returns the numbers that were written. Retries while no primary is reachable."""
    return [number for (number,) in await pods.query("SELECT number FROM writes ORDER BY 1", **_ACCESS)]
