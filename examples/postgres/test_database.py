"""What `synchronize` does, on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from postgres_operator.database import (
    Database,
    SynchronizationFailed,
    synchronize,
    wanted,
)
from postgres_server import Server, login, marks, twice, value

pytest_plugins = ["postgres_fixtures"]

pytestmark = marks
HOSTILE = ['a"b', "a'b", "a b;--", "Ünïcödé", "$(id)", "{name}", "%s", "select", "a\nb", 'x" SUPERUSER; --', "A" * 63]


@dataclass
class Schema:
    default_roles: bool = True
    default_users: bool = False


@dataclass
class Prepared:
    default_users: bool = False
    extensions: Mapping[str, str] = field(default_factory=dict)
    schemas: Mapping[str, Schema] = field(default_factory=dict)


@pytest.mark.promise("Postgres example", "Users have exactly the flags of the manifest.")
async def test_users_have_the_flags_of_the_manifest(database: Database) -> None:
    await twice(database, wanted("c", users={"flagged": ["superuser", "CREATEDB"], "plain": None}))
    query = "SELECT rolsuper, rolcreatedb, rolcreaterole, rolcanlogin, rolinherit FROM pg_roles WHERE rolname = %s"
    assert await database.rows(query, "flagged") == [(True, True, False, True, True)]
    assert await database.rows(query, "plain") == [(False, False, False, True, True)]
    done = await twice(database, wanted("c", users={"flagged": ["createrole", "nologin", "noinherit"], "plain": []}))
    assert done == ['changed role "flagged" to NOSUPERUSER NOCREATEDB CREATEROLE NOLOGIN NOINHERIT']
    assert await database.rows(query, "flagged") == [(False, False, True, False, False)]


@pytest.mark.promise("Postgres example", "Passwords are sent as SCRAM verifiers; no server log contains one.")
async def test_logs_in_with_the_password_of_the_secret(database: Database, server: Server) -> None:
    secret = "s3cret-' \\ é\u00a0x"
    done = await twice(database, wanted("c", users={"app": []}, passwords={"app": secret}))
    assert 'set the password of role "app"' in done
    async with login(server, "app", secret) as connection:
        assert await value(connection, "SELECT current_user") == "app"
    assert "s3cret" not in server.log()
    assert "SCRAM-SHA-256$" not in server.log()
    assert not any("s3cret" in line for line in done)


async def test_a_rotated_password_replaces_the_old_one(database: Database, server: Server) -> None:
    await twice(database, wanted("c", users={"rotated": []}, passwords={"rotated": "old"}))
    async with login(server, "rotated", "old") as session:
        done = await twice(database, wanted("c", users={"rotated": []}, passwords={"rotated": "new"}))
        assert done == ['set the password of role "rotated"']
        assert await value(session, "SELECT 1") == 1
    async with login(server, "rotated", "new"):
        pass
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        async with login(server, "rotated", "old"):
            pass


async def test_a_role_without_a_known_password_keeps_its_own(database: Database, server: Server) -> None:
    await synchronize(database, wanted("c", users={"kept": []}, passwords={"kept": "own"}))
    await twice(database, wanted("c", users={"kept": []}))
    async with login(server, "kept", "own"):
        pass


@pytest.mark.promise("Postgres example", "A removed user loses the login and keeps its objects.")
async def test_a_removed_user_loses_the_login_and_keeps_its_objects(database: Database, server: Server) -> None:
    both: dict[str, list[str]] = {"leaving": [], "staying": []}
    passwords = {"leaving": "one", "staying": "two"}
    target = wanted("c", users=both, databases={"belongings": "leaving"}, passwords=passwords)
    await twice(database, target)
    async with login(server, "leaving", "one", "belongings") as connection:
        await connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    done = await twice(database, wanted("c", users={"staying": []}, passwords=passwords))
    assert 'removed the login of role "leaving"' in done
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        async with login(server, "leaving", "one", "belongings"):
            pass
    async with login(server, "postgres", server.password, "belongings") as connection:
        assert await value(connection, "SELECT tableowner FROM pg_tables WHERE tablename = 'kept'") == "leaving"
        assert await value(connection, "SELECT answer FROM kept") == 42
    assert 'changed role "leaving" to LOGIN' in await twice(database, target)
    async with login(server, "leaving", "one", "belongings"):
        pass


async def test_roles_that_others_created_keep_their_login(database: Database) -> None:
    await database.run("CREATE ROLE foreign_role LOGIN")
    await twice(database, wanted("c"))
    assert await database.rows("SELECT rolcanlogin FROM pg_roles WHERE rolname = 'foreign_role'") == [(True,)]


@pytest.mark.promise("Postgres example", "No database is ever dropped.")
async def test_databases_have_owners_and_are_never_dropped(database: Database) -> None:
    users: dict[str, list[str]] = {"first": [], "second": []}
    done = await twice(database, wanted("c", users=users, databases={"shop": "first"}))
    assert 'created database "shop" of "first"' in done
    assert await twice(database, wanted("c", users=users, databases={"shop": "second"})) == [
        'gave database "shop" to "second"'
    ]
    await twice(database, wanted("c", users=users))
    query = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop'"
    assert await database.rows(query) == [("second",)]


async def test_one_refused_database_does_not_stop_others(database: Database) -> None:
    await synchronize(database, wanted("c"))
    with pytest.raises(SynchronizationFailed) as caught:
        await synchronize(database, wanted("c", databases={"lost": "missing_owner", "fine": "postgres"}))
    assert caught.value.failures == ('database "lost": role "missing_owner" does not exist',)
    assert caught.value.done == ('created database "fine" of "postgres"',)


class TestPreparedDatabases:
    async def test_readers_read_and_writers_write_what_owners_create(self, database: Database, server: Server) -> None:
        spec = Prepared(default_users=True, schemas={"bar": Schema(default_users=True), "baz": Schema(False)})
        names = [f"foo_{role}_user" for role in ("owner", "reader", "writer")]
        names += [f"foo_bar_{role}_user" for role in ("owner", "reader", "writer")]
        passwords = {name: f"password of {name}" for name in names}
        await twice(database, wanted("c", prepared={"foo": spec}, passwords=passwords))

        def connect(role: str) -> Any:
            return login(server, f"{role}_user", passwords[f"{role}_user"], "foo")

        async with connect("foo_bar_owner") as owner, connect("foo_owner") as database_owner:
            await owner.execute("CREATE TABLE bar.numbers AS SELECT 1 AS number")
            await database_owner.execute("CREATE TABLE baz.words AS SELECT 'one' AS word")
            await database_owner.execute("CREATE TABLE bar.more (number serial)")
        for reader in ("foo_reader", "foo_bar_reader"):
            async with connect(reader) as connection:
                assert await value(connection, "SELECT number FROM numbers") == 1, reader
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await connection.execute("INSERT INTO numbers VALUES (2)")
        for writer in ("foo_writer", "foo_bar_writer"):
            async with connect(writer) as connection:
                await connection.execute("INSERT INTO bar.numbers VALUES (2)")
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await connection.execute("CREATE TABLE bar.own (x int)")
        async with connect("foo_writer") as connection:
            await connection.execute("INSERT INTO bar.more DEFAULT VALUES")
            assert await value(connection, "SHOW search_path") == '"$user", bar, baz'
        async with connect("foo_bar_reader") as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute("SELECT * FROM baz.words")

    async def test_an_empty_field_prepares_a_database_of_the_cluster_name(self, database: Database) -> None:
        await twice(database, wanted("acid-minimal-cluster", prepared={}))
        async with database.other("acid_minimal_cluster") as inside:
            owner = await inside.rows("SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'data'")
        assert owner == [("acid_minimal_cluster_data_owner",)]

    async def test_extensions_are_in_their_schema(self, database: Database) -> None:
        spec = Prepared(extensions={"pg_trgm": "public"}, schemas={"data": Schema()})
        await twice(database, wanted("c", prepared={"ext": spec}))
        moved = Prepared(extensions={"pg_trgm": "data"}, schemas={"data": Schema()})
        assert await twice(database, wanted("c", prepared={"ext": moved})) == [
            'moved extension "pg_trgm" in "ext" to schema "data"'
        ]
        await twice(database, wanted("c", prepared={"ext": Prepared()}))
        async with database.other("ext") as inside:
            assert await inside.rows("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'") == [(1,)]

    async def test_a_missing_extension_is_named_and_stops_nothing_else(self, database: Database) -> None:
        spec = Prepared(extensions={"no_such": "public", "citext": "public"})
        with pytest.raises(SynchronizationFailed, match=r'extension "no_such" in "some".*not available'):
            await synchronize(database, wanted("c", prepared={"some": spec}))
        async with database.other("some") as inside:
            assert await inside.rows("SELECT 1 FROM pg_extension WHERE extname = 'citext'") == [(1,)]

    async def test_members_of_the_admin_role_become_owners(self, database: Database, server: Server) -> None:
        target = wanted("c", users={"anna": []}, prepared={"adm": None}, passwords={"anna": "a"}, admin_role="admin")
        await twice(database, target)
        await database.run("GRANT admin TO anna")
        async with login(server, "anna", "a", "adm") as connection:
            await connection.execute("SET ROLE adm_owner")


@pytest.mark.promise("Postgres example", "Names of users and databases are quoted, whatever they contain.")
@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_names_are_only_names(database: Database, server: Server, name: str) -> None:
    target = wanted("c", users={name: []}, databases={name: name}, passwords={name: name})
    await twice(database, target)
    async with login(server, name, name, name) as connection:
        assert await value(connection, "SELECT current_user") == name
        assert await value(connection, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False


async def test_hostile_names_of_schemas_are_only_names(database: Database) -> None:
    names = [each for each in HOSTILE if len(each) < 40]
    await twice(database, wanted("c", prepared={"h": Prepared(schemas={name: Schema() for name in names})}))
    async with database.other("h") as inside:
        found = await inside.rows("SELECT nspname FROM pg_namespace")
    assert set(names) <= {name for (name,) in found}


async def test_the_password_of_the_standby_follows_its_secret(database: Database, server: Server) -> None:
    assert not await synchronize(database, wanted("c", passwords={"standby": "one"}))
    await database.run("CREATE ROLE standby REPLICATION LOGIN")
    assert await twice(database, wanted("c", passwords={"standby": "one"})) == ['set the password of role "standby"']
    async with login(server, "standby", "one"):
        pass
