"""`Wanted`: what must be in a database, as a pure function of a cluster's spec and the passwords of its Secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from postgres_operator.database.prepared import Membership, PreparedDatabase, PreparedSpec, Role, prepared_databases

SUPERUSER: Final = "postgres"
STANDBY: Final = "standby"
FLAGS: Final = ("superuser", "createdb", "createrole", "replication", "bypassrls", "login", "inherit")
"""The flags of users. Each can have the prefix `no`; `login` and `inherit` are on by default."""

_MAX_BYTES: Final = 63


class InvalidNames(ValueError):
    """A user, database, schema or extension has a name or a flag that PostgreSQL or this operator does not accept."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Everything that `synchronize` ensures in a database.

    Attributes:
        roles: the roles of the manifest with their flags and passwords. Each managed role that is missing here loses
            its login.
        databases: the owner of each database.
        memberships: which role is a member of which one.
        prepared: schemas, extensions and default privileges of prepared databases.
        system_passwords: the passwords of roles that Patroni creates; only their passwords are kept.
    """

    roles: tuple[Role, ...] = ()
    databases: Mapping[str, str] = field(default_factory=dict)
    memberships: tuple[Membership, ...] = ()
    prepared: tuple[PreparedDatabase, ...] = ()
    system_passwords: Mapping[str, str] = field(default_factory=dict, repr=False)


def wanted(
    cluster: str,
    *,
    users: Mapping[str, Sequence[str] | None] | None = None,
    databases: Mapping[str, str] | None = None,
    prepared: Mapping[str, PreparedSpec | None] | None = None,
    passwords: Mapping[str, str] | None = None,
    admin_role: str | None = None,
) -> Wanted:
    """Returns what must be in the database of a cluster. Raises `InvalidNames` with the field and the fix.

    Args:
        cluster: the cluster's name; that of the prepared database if `prepared` is empty but given.
        users: `spec.users`: the flags of each user.
        databases: `spec.databases`: the owner of each database.
        prepared: `spec.preparedDatabases`. None: the field is missing.
        passwords: of users that log in, from their Secrets, and of `postgres` and `standby`. A role without one keeps
            the password that it has.
        admin_role: a role whose members may become the owners of prepared databases. Default: none.
    """
    passwords = passwords or {}
    plans, roles, memberships = prepared_databases(cluster, prepared, admin_role)
    owners = dict(databases or {})
    for plan in plans:
        if owners.setdefault(plan.name, plan.owner) != plan.owner:
            raise InvalidNames(
                f"databases[{plan.name}] has the owner {owners[plan.name]!r}, but preparedDatabases[{plan.name}] "
                f"needs {plan.owner!r}: use that owner, or remove one of both entries"
            )
    for name, flags in (users or {}).items():
        if name in roles:
            raise InvalidNames(f"users[{name}] is a role of preparedDatabases, too: rename the user")
        roles[name] = Role(name, **_flags(name, flags or ()))  # type: ignore[arg-type]  # flags alone
    _check_roles(roles)
    for place, names in (
        ("databases", owners),
        ("the owners of databases", owners.values()),
        ("schemas", [schema.name for plan in plans for schema in plan.schemas]),
        ("extensions", [extension for plan in plans for extension in plan.extensions]),
    ):
        for name in names:
            _check(place, name)
    return Wanted(
        roles=tuple(role.with_password(passwords.get(name)) for name, role in sorted(roles.items())),
        databases=owners,
        memberships=memberships,
        prepared=plans,
        system_passwords={name: passwords[name] for name in (SUPERUSER, STANDBY) if name in passwords},
    )


def logins(
    cluster: str,
    *,
    users: Mapping[str, Sequence[str] | None] | None = None,
    prepared: Mapping[str, PreparedSpec | None] | None = None,
) -> list[str]:
    """Returns the users that log in and therefore need a Secret, without `postgres` and `standby`."""
    made = wanted(cluster, users=users, prepared=prepared)
    return [role.name for role in made.roles if role.login]


def _flags(user: str, flags: Sequence[str]) -> dict[str, bool]:
    made: dict[str, bool] = {}
    for flag in flags:
        word = flag.strip().lower()
        name = word if word in FLAGS else word.removeprefix("no")
        if name not in FLAGS:
            raise InvalidNames(f"users[{user}] has the unknown flag {flag!r}; use {', '.join(FLAGS)}, or no with them")
        if made.setdefault(name, name == word) != (name == word):
            raise InvalidNames(f"users[{user}] has both {name} and no{name}: remove one of them")
    return made


def _check_roles(roles: Mapping[str, Role]) -> None:
    for name in roles:
        _check("users", name)
        if name in (SUPERUSER, STANDBY) or name.lower().startswith("pg_") or name.lower() in ("public", "none"):
            raise InvalidNames(f"users[{name}] is reserved for the system: rename the user")


def _check(place: str, name: str) -> None:
    if not name or "\0" in name or len(name.encode(errors="replace")) > _MAX_BYTES:
        raise InvalidNames(f"{place} has the name {name[:80]!r}; expected 1 to {_MAX_BYTES} bytes without NUL")
