"""Fixtures of the tests, which name this module in `pytest_plugins`: planned pods, and a PostgreSQL server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from postgres_operator.database import Database
from postgres_server import Server, running_server
from worlds import World, new_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """An embedded cluster with planned pods in virtual time. The test starts the operator."""
    async with new_world() as made:
        yield made


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server, without Patroni."""
    with running_server() as running:
        yield running


@pytest.fixture
async def database(server: Server) -> AsyncIterator[Database]:
    """A connection of the superuser."""
    async with Database.connect(server.address, server.password) as connected:
        yield connected
