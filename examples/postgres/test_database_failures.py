"""What `synchronize` does when a real PostgreSQL server fails, is slow, or refuses."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from postgres_operator.database import (
    Address,
    Database,
    DatabaseUnreachable,
    StatementRefused,
    WrongPassword,
    synchronize,
    wanted,
)
from postgres_server import Server, login, marks, twice

pytest_plugins = ["postgres_fixtures"]

pytestmark = marks


async def test_names_a_wrong_password_without_showing_it(server: Server) -> None:
    with pytest.raises(WrongPassword, match="rejects the password of postgres") as caught:
        async with Database.connect(server.address, "s3cret"):
            pass
    assert "s3cret" not in str(caught.value)


async def test_reports_an_unreachable_server(server: Server) -> None:
    with pytest.raises(DatabaseUnreachable, match=r"cannot connect to postgres at .*:1: .*refused"):
        async with Database.connect(Address(server.address.host, 1), "x"):
            pass


async def test_a_frozen_server_is_unreachable(server: Server) -> None:
    async with Database.connect(server.address, server.password, statement_seconds=0.5) as database:
        ((backend,),) = await database.rows("SELECT pg_backend_pid()")
        os.kill(backend, signal.SIGSTOP)
        try:
            with pytest.raises(DatabaseUnreachable):
                await synchronize(database, wanted("c", users={"late": []}))
        finally:
            os.kill(backend, signal.SIGCONT)


async def test_a_frozen_server_accepts_no_connection(server: Server) -> None:
    os.kill(server.pid, signal.SIGSTOP)
    try:
        with pytest.raises(DatabaseUnreachable):
            async with Database.connect(server.address, server.password, connect_seconds=2):
                pass
    finally:
        os.kill(server.pid, signal.SIGCONT)


async def test_a_slow_server_is_retried_later(server: Server, database: Database) -> None:
    target = wanted("c", users={"patient": []})
    async with (
        Database.connect(server.address, server.password, statement_seconds=0.2) as waiting,
        login(server, "postgres", server.password) as blocker,
    ):
        await blocker.execute("BEGIN; LOCK TABLE pg_authid IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(DatabaseUnreachable, match="canceling statement due to"):
            await synchronize(waiting, target)
    assert 'created role "patient"' in await twice(database, target)


async def test_a_server_that_ends_the_connection_is_unreachable(server: Server, database: Database) -> None:
    ((backend,),) = await database.rows("SELECT pg_backend_pid()")
    async with Database.connect(server.address, server.password) as other:
        await other.rows("SELECT pg_terminate_backend(%s)", backend)
    with pytest.raises(DatabaseUnreachable):
        await synchronize(database, wanted("c"))


async def test_a_canceled_synchronization_can_be_repeated(server: Server, database: Database) -> None:
    users: dict[str, list[str]] = {f"many_{number}": [] for number in range(50)}
    target = wanted("c", users=users, passwords=dict.fromkeys(users, "x"))
    async with Database.connect(server.address, server.password) as interrupted:
        running = asyncio.create_task(synchronize(interrupted, target))
        ((before,),) = await database.rows("SELECT count(*) FROM pg_roles WHERE rolname LIKE 'many%%'")
        running.cancel()
        await asyncio.wait([running])
    assert before in (0, 50)
    await synchronize(database, target)
    assert not await synchronize(database, target)


async def test_refused_roles_change_nothing(server: Server, database: Database) -> None:
    await database.run("CREATE ROLE limited CREATEROLE LOGIN PASSWORD 'x'")
    async with Database.connect(server.address, "x", user="limited") as limited:
        with pytest.raises(StatementRefused, match="permission denied"):
            await synchronize(limited, wanted("c", users={"never": []}))
    assert await database.rows("SELECT 1 FROM pg_roles WHERE rolname = 'never'") == []
