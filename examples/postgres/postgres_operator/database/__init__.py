"""What is in a cluster's database, and how it gets there.

`wanted` is a pure function of a manifest; `synchronize` makes the database like it, and can be repeated at any time:
it reads first and changes only what differs. It never drops a database, a schema, an extension or a role.
"""

from postgres_operator.database.access import AccessLost, set_passwords
from postgres_operator.database.address import Address, address_of
from postgres_operator.database.changes import Changes
from postgres_operator.database.connection import Database
from postgres_operator.database.contents import synchronize_databases
from postgres_operator.database.errors import (
    DatabaseError,
    DatabaseUnreachable,
    StatementRefused,
    SynchronizationFailed,
    WrongPassword,
)
from postgres_operator.database.prepared import PreparedSpec, SchemaSpec
from postgres_operator.database.roles import synchronize_roles
from postgres_operator.database.scram import matches, verifier
from postgres_operator.database.wanted import FLAGS, STANDBY, SUPERUSER, InvalidNames, Wanted, logins, wanted

__all__ = [
    "FLAGS",
    "STANDBY",
    "SUPERUSER",
    "AccessLost",
    "Address",
    "Changes",
    "Database",
    "DatabaseError",
    "DatabaseUnreachable",
    "InvalidNames",
    "PreparedSpec",
    "SchemaSpec",
    "StatementRefused",
    "SynchronizationFailed",
    "Wanted",
    "WrongPassword",
    "address_of",
    "logins",
    "matches",
    "set_passwords",
    "synchronize",
    "verifier",
    "wanted",
]


async def synchronize(database: Database, wanted: Wanted) -> Changes:
    """Makes the database as wanted, and returns what was changed: nothing, if it was as wanted.

    It can be interrupted at any point and repeated. Roles change in one transaction. Users that this operator created
    and that are not wanted any more lose their login; their objects stay.

    Raises `SynchronizationFailed` if the server refuses parts of it, after everything else is done,
    `StatementRefused` if it refuses the roles, and `DatabaseUnreachable` if it goes away.
    """
    changes = Changes()
    await synchronize_roles(database, wanted, changes)
    await synchronize_databases(database, wanted, changes)
    if changes.failures:
        raise SynchronizationFailed(changes.failures, changes.done)
    return changes
