"""A PostgreSQL server of this machine's packages, for tests: without Patroni, and without Kubernetes."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres_operator.database import Address, Database, Wanted, synchronize

from kubewright.cluster.services import LoopbackAddresses

PASSWORD = "the superuser's password"
_FOLDER = Path("/usr/lib/postgresql")
_SETTINGS = """
unix_socket_directories = '{folder}'
password_encryption = scram-sha-256
fsync = off
log_statement = all
"""


def installed_versions() -> list[str]:
    """Returns the major versions of PostgreSQL that are installed, oldest first."""
    found = [each.parents[1].name for each in _FOLDER.glob("*/bin/initdb")]
    return sorted((each for each in found if each.isdigit()), key=int)


def _why_not() -> str:
    if not installed_versions():
        return f"PostgreSQL's server is not installed in {_FOLDER}"
    if os.geteuid() == 0 and not any(each.pw_name == "postgres" for each in pwd.getpwall()):
        return "PostgreSQL refuses to run as root, and this machine has no user postgres"
    return ""


marks = [pytest.mark.postgres, pytest.mark.skipif(bool(_why_not()), reason=_why_not() or "installed")]
"""`pytestmark` of modules that need a server."""


class Server:
    """A running server with the superuser `postgres`."""

    def __init__(self, folder: Path, address: Address) -> None:
        self.folder = folder
        self.address = address
        self.password = PASSWORD

    @property
    def pid(self) -> int:
        """The process number of the server."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def log(self) -> str:
        """Returns the server's log, which contains all statements."""
        return (self.folder / "log").read_text()


def _wait(programs: Path, address: Address) -> None:
    for _ in range(1200):
        command = [str(programs / "pg_isready"), "-q", "-h", address.host, "-t", "1"]
        if subprocess.run(command, check=False).returncode == 0:
            return
        time.sleep(0.1)  # real: another program's start has no event
    raise TimeoutError(f"the server at {address} did not start")


@contextmanager
def running_server() -> Iterator[Server]:
    """Creates a server in a temporary folder and runs it at a loopback address of its own."""
    user = "postgres" if os.geteuid() == 0 else None
    programs = _FOLDER / installed_versions()[-1] / "bin"
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    addresses = LoopbackAddresses()
    try:
        address = Address(addresses.allocate())
        secret = folder / "password"
        secret.write_text(PASSWORD)
        if user is not None:
            shutil.chown(folder, user)
            shutil.chown(secret, user)

        def run(program: str, *arguments: str) -> None:
            command = [str(programs / program), "-D", str(folder / "data"), *arguments]
            subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, env={"LC_ALL": "C"})

        run("initdb", "-U", "postgres", f"--pwfile={secret}", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8")
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(f"listen_addresses = '{address.host}'\n" + _SETTINGS.format(folder=folder))
        with (folder / "data" / "pg_hba.conf").open("a") as file:
            file.write("host all all all scram-sha-256\n")
        # It ends with this process, also if that is killed.
        command = ["setpriv", "--pdeathsig", "QUIT", str(programs / "postgres"), "-D", str(folder / "data")]
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen(command, user=user, cwd=folder, stdout=log, stderr=log, env={"LC_ALL": "C"}) as process,
        ):
            try:
                _wait(programs, address)
                yield Server(folder, address)
            finally:
                process.send_signal(signal.SIGQUIT)
    finally:
        addresses.close()
        shutil.rmtree(folder)


@asynccontextmanager
async def login(
    server: Server, user: str, password: str, database: str = "postgres"
) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """Connects as a user of the cluster would."""
    connection = await psycopg.AsyncConnection.connect(
        host=server.address.host, user=user, password=password, dbname=database, autocommit=True
    )
    try:
        yield connection
    finally:
        await connection.close()


async def value(connection: psycopg.AsyncConnection[Any], query: str) -> Any:
    row = await (await connection.execute(query.encode())).fetchone()
    return row[0] if row else None


async def twice(database: Database, target: Wanted) -> list[str]:
    """Synchronizes, and checks that a second time changes nothing."""
    done = (await synchronize(database, target)).done
    again = await synchronize(database, target)
    assert not again
    assert str(again) == "nothing to do"
    return done
