"""Databases with their owners, and the schemas, extensions and default privileges of prepared ones.

Nothing is ever dropped: an entry that is removed from a manifest stays in the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from psycopg import sql

from postgres_operator.database.changes import Changes
from postgres_operator.database.connection import Database
from postgres_operator.database.errors import StatementRefused
from postgres_operator.database.prepared import Owner, PreparedDatabase, PreparedSchema
from postgres_operator.database.wanted import Wanted

_DEFAULT_PRIVILEGES: Final = """
SELECT creator.rolname, coalesce(nspname, ''), defaclobjtype::text, grantee.rolname, lower(privilege_type)
FROM pg_default_acl CROSS JOIN aclexplode(defaclacl) AS acl
JOIN pg_roles creator ON creator.oid = defaclrole
JOIN pg_roles grantee ON grantee.oid = acl.grantee
LEFT JOIN pg_namespace n ON n.oid = defaclnamespace
"""
_SCHEMA_PRIVILEGES: Final = """
SELECT nspname, grantee.rolname FROM pg_namespace CROSS JOIN aclexplode(nspacl) AS acl
JOIN pg_roles grantee ON grantee.oid = acl.grantee WHERE privilege_type = 'USAGE'
"""
_OBJECTS: Final = {"r": "TABLES", "S": "SEQUENCES", "f": "FUNCTIONS", "T": "TYPES", "n": "SCHEMAS"}


class Grant(NamedTuple):
    """A default privilege: what `grantee` may do with new objects of `creator`, in one schema or in all ('')."""

    creator: str
    schema: str
    kind: str
    grantee: str
    privilege: str


async def synchronize_databases(database: Database, wanted: Wanted, changes: Changes) -> None:
    """Creates databases and corrects their owners. A database that the server refuses does not stop others."""
    rows = await database.rows("SELECT datname, pg_get_userbyid(datdba) FROM pg_database")
    existing: dict[str, str] = dict(rows)
    for name, owner in wanted.databases.items():
        parts = {"name": sql.Identifier(name), "owner": sql.Identifier(owner)}
        try:
            if name not in existing:
                await database.run("CREATE DATABASE {name} OWNER {owner}", **parts)
                changes.done.append(f'created database "{name}" of "{owner}"')
            elif existing[name] != owner:
                await database.run("ALTER DATABASE {name} OWNER TO {owner}", **parts)
                changes.done.append(f'gave database "{name}" to "{owner}"')
        except StatementRefused as error:
            changes.failures.append(f'database "{name}": {error}')
    for plan in wanted.prepared:
        await _synchronize_prepared(database, plan, changes)


async def _synchronize_prepared(database: Database, plan: PreparedDatabase, changes: Changes) -> None:
    try:
        async with database.other(plan.name) as inside:
            async with inside.transaction():
                made = Changes()
                await _synchronize_schemas(inside, plan, made)
            changes.done.extend(made.done)
            await _synchronize_extensions(inside, plan, changes)
    except StatementRefused as error:
        changes.failures.append(f'prepared database "{plan.name}": {error}')


async def _synchronize_schemas(inside: Database, plan: PreparedDatabase, changes: Changes) -> None:
    owners = dict(await inside.rows("SELECT nspname, pg_get_userbyid(nspowner) FROM pg_namespace"))
    for schema in plan.schemas:
        parts = {"name": sql.Identifier(schema.name), "owner": sql.Identifier(schema.owner)}
        if schema.name not in owners:
            await inside.run("CREATE SCHEMA {name} AUTHORIZATION {owner}", **parts)
            changes.done.append(f'created schema "{schema.name}" in "{plan.name}"')
        elif owners[schema.name] != schema.owner and schema.name != "public":
            await inside.run("ALTER SCHEMA {name} OWNER TO {owner}", **parts)
            changes.done.append(f'gave schema "{schema.name}" in "{plan.name}" to "{schema.owner}"')
    await _grant_usage(inside, plan.schemas, changes)
    existing = {Grant(*row) for row in await inside.rows(_DEFAULT_PRIVILEGES)}
    missing = [each for each in _default_privileges(plan) if each not in existing]
    for creator, place, kind, grantee, privilege in missing:
        await inside.run(
            "ALTER DEFAULT PRIVILEGES FOR ROLE {creator}{place} GRANT {privilege} ON {kind} TO {grantee}",
            creator=sql.Identifier(creator),
            place=sql.SQL(" IN SCHEMA {}").format(sql.Identifier(place)) if place else sql.SQL(""),
            privilege=sql.SQL(_PRIVILEGES[privilege]),
            kind=sql.SQL(_OBJECTS[kind]),
            grantee=sql.Identifier(grantee),
        )
    if missing:
        changes.done.append(f'set default privileges in "{plan.name}"')


async def _grant_usage(inside: Database, schemas: Iterable[PreparedSchema], changes: Changes) -> None:
    existing = set(await inside.rows(_SCHEMA_PRIVILEGES))
    for schema in schemas:
        roles = dict.fromkeys(role for each in schema.privileges for role in (each.reader, each.writer))
        for role in roles:
            if (schema.name, role) not in existing:
                parts = {"name": sql.Identifier(schema.name), "role": sql.Identifier(role)}
                await inside.run("GRANT USAGE ON SCHEMA {name} TO {role}", **parts)
                changes.done.append(f'granted the use of schema "{schema.name}" to "{role}"')


_PRIVILEGES: Final = {
    "select": "SELECT",
    "insert": "INSERT",
    "update": "UPDATE",
    "delete": "DELETE",
    "usage": "USAGE",
    "execute": "EXECUTE",
}


def _default_privileges(plan: PreparedDatabase) -> Iterator[Grant]:
    for owner in plan.privileges:
        yield from _of(owner, "")
        for reader in (owner.reader, owner.writer):
            yield Grant(owner.creator, "", "n", reader, "usage")
    for schema in plan.schemas:
        for owner in schema.privileges:
            yield from _of(owner, schema.name)


def _of(owner: Owner, schema: str) -> Iterator[Grant]:
    for kind in ("r", "S"):
        yield Grant(owner.creator, schema, kind, owner.reader, "select")
    for privilege in ("insert", "update", "delete"):
        yield Grant(owner.creator, schema, "r", owner.writer, privilege)
    for privilege in ("usage", "update"):
        yield Grant(owner.creator, schema, "S", owner.writer, privilege)
    for role in (owner.reader, owner.writer):
        yield Grant(owner.creator, schema, "f", role, "execute")
        yield Grant(owner.creator, schema, "T", role, "usage")


async def _synchronize_extensions(inside: Database, plan: PreparedDatabase, changes: Changes) -> None:
    query = "SELECT extname, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace"
    existing = dict(await inside.rows(query))
    for name, schema in plan.extensions.items():
        parts = {"name": sql.Identifier(name), "schema": sql.Identifier(schema)}
        try:
            if name not in existing:
                await inside.run("CREATE EXTENSION {name} SCHEMA {schema}", **parts)
                changes.done.append(f'created extension "{name}" in "{plan.name}"')
            elif existing[name] != schema:
                await inside.run("ALTER EXTENSION {name} SET SCHEMA {schema}", **parts)
                changes.done.append(f'moved extension "{name}" in "{plan.name}" to schema "{schema}"')
        except StatementRefused as error:
            changes.failures.append(f'extension "{name}" in "{plan.name}": {error}')
