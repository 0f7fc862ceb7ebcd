"""Roles: flags, passwords, memberships, search paths; removed users lose their login and keep their objects."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from psycopg import sql

from postgres_operator.database.changes import Changes
from postgres_operator.database.connection import Database
from postgres_operator.database.prepared import Membership, Role
from postgres_operator.database.scram import matches, verifier
from postgres_operator.database.wanted import FLAGS, Wanted

MARK: Final = "managed by postgres-operator"
"""The comment of roles that this operator manages. It is how a removed user is found, without any other state."""

_EXISTING: Final = """
SELECT rolname, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolcanlogin, rolinherit,
       rolpassword, shobj_description(oid, 'pg_authid')
FROM pg_authid
"""
_PATHS: Final = """
SELECT rolname, (SELECT substr(each, 13) FROM unnest(setconfig) each WHERE each LIKE 'search\\_path=%%')
FROM pg_db_role_setting JOIN pg_roles ON pg_roles.oid = setrole WHERE setdatabase = 0
"""
_QUOTED: Final = "SELECT quote_ident(each) FROM unnest(%s::text[]) WITH ORDINALITY AS t(each, n) ORDER BY n"
_MEMBERS: Final = """
SELECT r.rolname, m.rolname, bool_or(admin_option) FROM pg_auth_members
JOIN pg_roles r ON r.oid = roleid JOIN pg_roles m ON m.oid = member GROUP BY 1, 2
"""


@dataclass(frozen=True)
class Existing:
    """A role in the database."""

    flags: Mapping[str, bool]
    password: str | None
    comment: str | None

    def __repr__(self) -> str:
        return f"Existing({self.flags!r})"  # without the verifier


async def synchronize_roles(database: Database, wanted: Wanted, changes: Changes) -> None:
    """Creates and changes roles in one transaction. Does nothing if all of them are as wanted."""
    made = Changes()
    async with database.transaction():
        # A verifier is not a password, but it does not belong into the log either.
        await database.run("SET LOCAL log_statement = 'none'")
        await database.run("SET LOCAL log_min_error_statement = 'panic'")
        await database.run("SET LOCAL log_min_duration_statement = -1")
        existing = await _existing(database)
        for role in wanted.roles:
            await _synchronize_role(database, role, existing.get(role.name), made)
        for name, password in wanted.system_passwords.items():
            if name in existing:
                await _synchronize_password(database, name, password, existing[name], made)
        await _disable_removed(database, wanted, existing, made)
        await _synchronize_memberships(database, wanted.memberships, made)
        await _synchronize_paths(database, wanted.roles, made)
    changes.done.extend(made.done)


async def _existing(database: Database) -> dict[str, Existing]:
    found = {}
    for name, *flags, password, comment in await database.rows(_EXISTING):
        found[name] = Existing(dict(zip(FLAGS, flags, strict=True)), password, comment)
    return found


async def _synchronize_role(database: Database, role: Role, existing: Existing | None, changes: Changes) -> None:
    name, wanted = sql.Identifier(role.name), {flag: bool(getattr(role, flag)) for flag in FLAGS}
    if existing is None:
        await database.run("CREATE ROLE {name} WITH {flags}", name=name, flags=_flags(wanted))
        changes.done.append(f'created role "{role.name}"')
        existing = Existing(wanted, None, None)
    different = {flag: value for flag, value in wanted.items() if existing.flags[flag] != value}
    if different:
        await database.run("ALTER ROLE {name} WITH {flags}", name=name, flags=_flags(different))
        words = " ".join(_word(flag, value) for flag, value in different.items())
        changes.done.append(f'changed role "{role.name}" to {words}')
    if existing.comment != MARK:
        await database.run("COMMENT ON ROLE {name} IS {mark}", name=name, mark=sql.Literal(MARK))
    if role.password is not None:
        await _synchronize_password(database, role.name, role.password, existing, changes)


async def _synchronize_password(
    database: Database, name: str, password: str, existing: Existing, changes: Changes
) -> None:
    if await asyncio.to_thread(matches, password, existing.password):
        return
    made = await asyncio.to_thread(verifier, password)
    await database.run("ALTER ROLE {name} PASSWORD {made}", name=sql.Identifier(name), made=sql.Literal(made))
    changes.done.append(f'set the password of role "{name}"')


async def _disable_removed(
    database: Database, wanted: Wanted, existing: Mapping[str, Existing], changes: Changes
) -> None:
    kept = {role.name for role in wanted.roles}
    for name, role in existing.items():
        if role.comment == MARK and name not in kept and role.flags["login"]:
            await database.run("ALTER ROLE {name} NOLOGIN", name=sql.Identifier(name))
            changes.done.append(f'removed the login of role "{name}"')


async def _synchronize_memberships(database: Database, wanted: tuple[Membership, ...], changes: Changes) -> None:
    if not wanted:
        return
    found = {(role, member): admin for role, member, admin in await database.rows(_MEMBERS)}
    for role, member, admin in wanted:
        has = found.get((role, member))
        if has is None or (admin and not has):
            option = sql.SQL(" WITH ADMIN OPTION" if admin else "")
            await database.run(
                "GRANT {role} TO {member}{option}",
                role=sql.Identifier(role),
                member=sql.Identifier(member),
                option=option,
            )
            changes.done.append(f'granted role "{role}" to "{member}"')


async def _synchronize_paths(database: Database, roles: tuple[Role, ...], changes: Changes) -> None:
    wanted = {role.name: role.search_path for role in roles if role.search_path}
    if not wanted:
        return
    found = dict(await database.rows(_PATHS))
    for name, path in wanted.items():
        shown = await database.rows(_QUOTED, list(path))
        if found.get(name) != ", ".join(each for (each,) in shown):
            parts = sql.SQL(", ").join(sql.Literal(each) for each in path)
            await database.run("ALTER ROLE {name} SET search_path TO {path}", name=sql.Identifier(name), path=parts)
            changes.done.append(f'set the search path of role "{name}"')


def _flags(flags: Mapping[str, bool]) -> sql.Composable:
    return sql.SQL(" ").join(sql.SQL(_KEYWORDS[flag][value]) for flag, value in flags.items())


def _word(flag: str, value: bool) -> str:
    return _KEYWORDS[flag][value]


_KEYWORDS: Final = {
    "superuser": ("NOSUPERUSER", "SUPERUSER"),
    "createdb": ("NOCREATEDB", "CREATEDB"),
    "createrole": ("NOCREATEROLE", "CREATEROLE"),
    "replication": ("NOREPLICATION", "REPLICATION"),
    "bypassrls": ("NOBYPASSRLS", "BYPASSRLS"),
    "login": ("NOLOGIN", "LOGIN"),
    "inherit": ("NOINHERIT", "INHERIT"),
}
