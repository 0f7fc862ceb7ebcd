"""`Engine`: everything that the operator does outside of the Kubernetes API. Tests without a database replace it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from kubewright.api import core
from kubewright.client import Client
from postgres_operator.children import CONTAINER
from postgres_operator.database import Address, Changes, Database, Wanted, set_passwords, synchronize
from postgres_operator.patroni import Member, Patroni


class Members(Protocol):
    """Patroni's REST API, as far as the operator uses it. `patroni.Patroni` describes the methods."""

    async def members(self) -> list[Member]: ...
    async def configure(self, wanted: Mapping[str, Any]) -> bool: ...
    async def restart(self, member: Member) -> None: ...
    async def switchover(self, leader: str, candidate: str | None = None) -> None: ...


class Engine(Protocol):
    """Patroni and PostgreSQL of all clusters."""

    def patroni(self, pods: Sequence[core.Pod]) -> AbstractAsyncContextManager[Members]:
        """Returns the client of the Patroni of a cluster's pods."""

    async def synchronize(self, address: Address, password: str, wanted: Wanted) -> Changes:
        """Makes the database at an address as wanted. Raises `DatabaseError`."""

    async def set_passwords(self, client: Client, primary: core.Pod, passwords: Mapping[str, str]) -> None:
        """Sets the passwords of the operator's own users in a pod, where no password is needed. Raises `AccessLost`."""


class PatroniEngine:
    """The engine of a production operator."""

    def patroni(self, pods: Sequence[core.Pod]) -> AbstractAsyncContextManager[Members]:
        """Returns the client of the Patroni of a cluster's pods."""
        return Patroni.of(pods)

    async def synchronize(self, address: Address, password: str, wanted: Wanted) -> Changes:
        """Logs in as the superuser, and makes the database as wanted."""
        async with Database.connect(address, password) as database:
            return await synchronize(database, wanted)

    async def set_passwords(self, client: Client, primary: core.Pod, passwords: Mapping[str, str]) -> None:
        """Runs `psql` in the pod."""
        await set_passwords(client, primary, CONTAINER, passwords)


async def production_engine() -> AsyncIterator[Engine]:
    """Yields the engine of a run."""
    yield PatroniEngine()
