"""`Database`: a connection to a cluster's primary. Each statement has a limit, also if the server is frozen."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final, LiteralString, Self

import psycopg
from psycopg import sql

from postgres_operator.database.address import Address
from postgres_operator.database.errors import DatabaseUnreachable, StatementRefused, WrongPassword

CONNECT_SECONDS: Final = 10.0
STATEMENT_SECONDS: Final = 30.0
# The server cancels a statement before the client closes the connection.
_MARGIN_SECONDS: Final = 5.0
_MAX_MESSAGE: Final = 500
_CONNECTION_LOST: Final = ("08", "57", "25006")
"""SQLSTATEs of a server that goes away, shuts down, cancels, or is not a primary any more: retry later."""


class Database:
    """A connection to one database of a cluster's primary, for `async with Database.connect(address, password)`.

    Each statement is its own transaction, unless it is in `transaction()`. Raises `DatabaseUnreachable` if the server
    goes away or does not answer in time, and `StatementRefused` for other errors.
    """

    def __init__(self, connection: psycopg.AsyncConnection[Any], address: Address, password: str, limit: float) -> None:
        self._connection = connection
        self._address = address
        self._password = password
        self._limit = limit

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        address: Address,
        password: str,
        *,
        user: str = "postgres",
        database: str = "postgres",
        connect_seconds: float = CONNECT_SECONDS,
        statement_seconds: float = STATEMENT_SECONDS,
    ) -> AsyncIterator[Self]:
        """Connects to a writable server. Raises `DatabaseUnreachable` or `WrongPassword`."""
        milliseconds = int(statement_seconds * 1000)
        try:
            async with asyncio.timeout(connect_seconds + _MARGIN_SECONDS):
                connection = await psycopg.AsyncConnection.connect(
                    host=address.host,
                    port=address.port,
                    user=user,
                    password=password,
                    dbname=database,
                    autocommit=True,
                    connect_timeout=max(int(connect_seconds), 2),
                    target_session_attrs="read-write",
                    application_name="postgres-operator",
                    options=f"-c statement_timeout={milliseconds} -c lock_timeout={milliseconds}",
                    passfile=os.devnull,
                )
        except (psycopg.OperationalError, TimeoutError, OSError) as error:
            text = _message(error)
            if "password authentication failed" in text:
                raise WrongPassword(f"the server at {address} rejects the password of {user}") from None
            raise DatabaseUnreachable(f"cannot connect to {database} at {address}: {text}") from None
        try:
            yield cls(connection, address, password, statement_seconds)
        finally:
            await connection.close()

    @asynccontextmanager
    async def other(self, database: str) -> AsyncIterator[Database]:
        """Connects to another database of the same server."""
        async with Database.connect(
            self._address, self._password, database=database, statement_seconds=self._limit
        ) as connected:
            yield connected

    async def rows(self, query: LiteralString, *parameters: object) -> list[tuple[Any, ...]]:
        """Returns the rows of a query. Parameters are sent apart from it (`%s`)."""
        with self._bounded():
            cursor = await self._connection.execute(query, parameters or None)
            return await cursor.fetchall()

    async def run(self, statement: LiteralString, **parts: sql.Composable) -> None:
        """Runs a statement. `parts` replace `{names}`: `sql.Identifier` and `sql.Literal` quote them."""
        with self._bounded():
            await self._connection.execute(sql.SQL(statement).format(**parts))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Runs statements together or not at all."""
        with self._bounded():
            await self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            with contextlib.suppress(DatabaseUnreachable, StatementRefused), self._bounded():
                await self._connection.execute("ROLLBACK")
            raise
        with self._bounded():
            await self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def _bounded(self) -> Iterator[None]:
        """Bounds the time of a statement, and translates errors.

        psycopg waits for the server's confirmation when its task is canceled. A frozen server never confirms, so the
        socket is shut down instead.
        """
        timer = asyncio.get_running_loop().call_later(self._limit + _MARGIN_SECONDS, self._shut_down)
        try:
            yield
        except psycopg.Error as error:
            text = f"{self._connection.info.dbname} at {self._address}: {_message(error)}"
            lost = self._connection.closed or (error.sqlstate or "").startswith(_CONNECTION_LOST)
            if lost or (error.sqlstate is None and isinstance(error, psycopg.OperationalError)):
                raise DatabaseUnreachable(text) from None
            raise StatementRefused(_message(error)) from None
        finally:
            timer.cancel()

    def _shut_down(self) -> None:
        with (
            contextlib.suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self._connection.pgconn.socket)) as copy,
        ):
            copy.shutdown(socket.SHUT_RDWR)


def _message(error: BaseException) -> str:
    """Returns the first line of an error, without the statement, which could contain a verifier."""
    diagnosed = getattr(getattr(error, "diag", None), "message_primary", None)
    lines = [line.strip() for line in str(diagnosed or error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:_MAX_MESSAGE]
