"""The Secrets of a cluster: created with a random password, and kept as they are.

The database follows them: `steps.database` sets the password of each Secret. So a Secret that was deleted, or changed
by a user, takes effect in the database, and an interruption between both is repaired by the next reconcile. To rotate a
password, delete the Secret.

The passwords of `postgres` and `standby` are the operator's own access, so they never change. They are also in a Secret
that is kept with the volumes, from which a lost one is restored.
"""

import secrets
import string
from collections.abc import Iterable

import kubewright as kw
from kubewright.api import core, is_controlled_by
from postgres_operator.children import data_secret, data_secret_name, secret_name, user_secret
from postgres_operator.children.secrets import VERSION_ANNOTATION
from postgres_operator.kinds import Postgresql
from postgres_operator.kinds.problems import SYSTEM_USERS
from postgres_operator.steps.volumes import data_version

_ALPHABET = string.ascii_letters + string.digits
_LENGTH = 64


class ForeignSecret(Exception):
    """Another owner has a Secret of the name that a user of the cluster needs."""


async def ensure_secrets(cluster: Postgresql, ctx: kw.Context[Postgresql], users: Iterable[str]) -> dict[str, str]:
    """Makes sure that each user has a Secret, and returns the passwords. Raises `ForeignSecret`."""
    passwords = {user: await _ensure(cluster, ctx, user, None) for user in users}
    kept = await _ensure_data_secret(cluster, ctx)
    return passwords | {user: await _ensure(cluster, ctx, user, kept[user]) for user in SYSTEM_USERS}


async def prune_secrets(cluster: Postgresql, ctx: kw.Context[Postgresql], users: Iterable[str]) -> None:
    """Deletes the Secrets of users that are not in the spec any more."""
    names = {secret_name(user, cluster.metadata.name) for user in (*users, *SYSTEM_USERS)}
    for secret in ctx.owned(core.Secret):
        if secret.metadata.name not in names and secret.metadata.deletion_timestamp is None:
            await ctx.delete(secret)


async def _ensure_data_secret(cluster: Postgresql, ctx: kw.Context[Postgresql]) -> dict[str, str]:
    """Returns the passwords of the data directory. Those of existing Secrets are preferred to new ones."""
    found = ctx.get(core.Secret, data_secret_name(cluster))
    kept = {user: _password(found, user) for user in SYSTEM_USERS}
    version = data_version(cluster, ctx)
    known = {user: password for user, password in kept.items() if password is not None}
    if found is not None and len(known) == len(kept) and found.metadata.annotations.get(VERSION_ANNOTATION) == version:
        return known
    made = {
        user: kept[user]
        or _password(ctx.get(core.Secret, secret_name(user, cluster.metadata.name)), "password")
        or _generate()
        for user in SYSTEM_USERS
    }
    wanted = data_secret(cluster, made, version)
    if found is None:
        await ctx.create(wanted, owned=False)  # without an owner, it outlives the cluster with the volumes
    else:
        found.data = wanted.data
        found.metadata.annotations.update(wanted.metadata.annotations)
        await ctx.update(found)
    return made


async def _ensure(cluster: Postgresql, ctx: kw.Context[Postgresql], user: str, kept: str | None) -> str:
    """Returns the password of a user's Secret, which is created or repaired if necessary."""
    found = ctx.get(core.Secret, secret_name(user, cluster.metadata.name))
    if found is None:
        password = kept or _generate()
        # Created and not applied: an apply would overwrite the password of a Secret that the cache does not have yet.
        await ctx.create(user_secret(cluster, user, password))
        ctx.record("SecretCreated", f"created the Secret of user {user}")
        return password
    if not is_controlled_by(found, cluster):
        raise ForeignSecret(
            f"Secret {found.metadata.name} of user {user} belongs to another owner; delete it or rename the user"
        )
    password = kept or _password(found, "password") or _generate()
    wanted = user_secret(cluster, user, password)
    if found.data != wanted.data or found.metadata.labels != {**found.metadata.labels, **wanted.metadata.labels}:
        found.data = wanted.data
        found.metadata.labels.update(wanted.metadata.labels)
        await ctx.update(found)
    return password


def _password(secret: core.Secret | None, key: str) -> str | None:
    content = (secret.data or {}).get(key) if secret is not None else None
    return content.decode(errors="replace") if content else None


def _generate() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
