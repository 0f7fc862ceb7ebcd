"""Prepared databases: their roles, schemas and default privileges, as the documentation of upstream describes them.

| role | member of | administered by |
|---|---|---|
| `foo_owner` | | `admin_role`, if there is one |
| `foo_reader` | | `foo_owner` |
| `foo_writer` | `foo_reader` | `foo_owner` |
| `foo_bar_owner` | | `foo_owner` |
| `foo_bar_reader` | | `foo_bar_owner` |
| `foo_bar_writer` | `foo_bar_reader` | `foo_bar_owner` |

With `defaultUsers`, each of them has a member `…_user` that logs in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

DEFAULT_SCHEMA: Final = "data"
USER_SUFFIX: Final = "_user"


class SchemaSpec(Protocol):
    """`spec.preparedDatabases.*.schemas.*` of a manifest."""

    @property
    def default_roles(self) -> bool | None: ...
    @property
    def default_users(self) -> bool | None: ...


class PreparedSpec(Protocol):
    """`spec.preparedDatabases.*` of a manifest."""

    @property
    def default_users(self) -> bool | None: ...
    @property
    def extensions(self) -> Mapping[str, str] | None: ...
    @property
    def schemas(self) -> Mapping[str, SchemaSpec | None] | None: ...


@dataclass(frozen=True)
class Role:
    """A role with its flags. `password` None: the role keeps the one that it has."""

    name: str
    login: bool = True
    superuser: bool = False
    createdb: bool = False
    createrole: bool = False
    replication: bool = False
    bypassrls: bool = False
    inherit: bool = True
    password: str | None = None
    search_path: tuple[str, ...] = ()

    def with_password(self, password: str | None) -> Role:
        """Returns the role with a password, if it can log in."""
        return replace(self, password=password if self.login else None)

    def __repr__(self) -> str:
        return f"Role({self.name!r})"  # without the password


class Membership(NamedTuple):
    """`member` is a member of `role`; with `admin`, it may grant the role to others."""

    role: str
    member: str
    admin: bool = False


class Owner(NamedTuple):
    """New objects of `creator` are readable for `reader` and writable for `writer`."""

    creator: str
    reader: str
    writer: str


@dataclass(frozen=True)
class PreparedSchema:
    """A schema, its owner, and the default privileges in it."""

    name: str
    owner: str
    privileges: tuple[Owner, ...]


@dataclass(frozen=True)
class PreparedDatabase:
    """A database, its owner, its schemas, the schema of each extension, and its default privileges."""

    name: str
    owner: str
    schemas: tuple[PreparedSchema, ...]
    extensions: Mapping[str, str]
    privileges: tuple[Owner, ...]


class _Roles:
    """Collects roles and their memberships."""

    def __init__(self) -> None:
        self.roles: dict[str, Role] = {}
        self.memberships: list[Membership] = []

    def add(self, prefix: str, admin: str | None, path: tuple[str, ...], *, users: bool) -> tuple[Owner, ...]:
        """Adds the owner, reader and writer of a database or a schema. Returns whose new objects they share."""
        owner, reader, writer = f"{prefix}_owner", f"{prefix}_reader", f"{prefix}_writer"
        admins = {owner: admin, reader: owner, writer: owner}
        for name, administrator in admins.items():
            self.roles[name] = Role(name, login=False, search_path=path)
            if administrator is not None:
                self.memberships.append(Membership(name, administrator, admin=True))
            if users:
                self.roles[name + USER_SUFFIX] = Role(name + USER_SUFFIX, search_path=path)
                self.memberships.append(Membership(name, name + USER_SUFFIX))
        self.memberships.append(Membership(reader, writer))
        creators = [owner, owner + USER_SUFFIX] if users else [owner]
        return tuple(Owner(creator, reader, writer) for creator in creators)


def prepared_databases(
    cluster: str, prepared: Mapping[str, PreparedSpec | None] | None, admin_role: str | None
) -> tuple[tuple[PreparedDatabase, ...], dict[str, Role], tuple[Membership, ...]]:
    """Returns the prepared databases, and their roles with memberships.

    An empty mapping stands for one database that has the cluster's name, with underscores for dashes.
    """
    if prepared is None:
        return (), {}, ()
    made = _Roles()
    if admin_role is not None:
        made.roles[admin_role] = Role(admin_role, login=False)
    plans = []
    for name, spec in (prepared or {cluster.replace("-", "_"): None}).items():
        plans.append(_database(made, name, spec, admin_role))
    return tuple(plans), made.roles, tuple(made.memberships)


def _database(made: _Roles, name: str, spec: PreparedSpec | None, admin_role: str | None) -> PreparedDatabase:
    schemas = dict((spec.schemas if spec is not None else None) or {DEFAULT_SCHEMA: None})
    users = spec is not None and bool(spec.default_users)
    shared = made.add(name, admin_role, ("$user", *schemas), users=users)
    owner = f"{name}_owner"
    planned = []
    for schema, settings in schemas.items():
        if settings is not None and settings.default_roles is False:
            planned.append(PreparedSchema(schema, owner, shared))
            continue
        own_users = settings is not None and bool(settings.default_users)
        own = made.add(f"{name}_{schema}", owner, ("$user", schema), users=own_users)
        both = {each.creator for each in (*own, *shared)}
        audiences = dict.fromkeys((each.reader, each.writer) for each in (*own, *shared))
        privileges = tuple(Owner(creator, *audience) for creator in sorted(both) for audience in audiences)
        planned.append(PreparedSchema(schema, f"{name}_{schema}_owner", privileges))
    extensions = dict((spec.extensions if spec is not None else None) or {})
    return PreparedDatabase(name, owner, tuple(planned), extensions, shared)
