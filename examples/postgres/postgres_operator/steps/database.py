"""`Synchronized`: which databases are up to date. `synchronize_database`: lets one follow the spec and the Secrets.

A login costs time and connections, so the operator compares a database only if the spec, the configuration of Patroni
or a Secret has changed, after a failover, and after the resync period.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

import kubewright as kw
from kubewright.api import core
from postgres_operator.database import SUPERUSER, AccessLost, Address, Changes, WrongPassword, wanted
from postgres_operator.engine import Engine
from postgres_operator.kinds import Postgresql
from postgres_operator.kinds.problems import SYSTEM_USERS
from postgres_operator.patroni import LOOP_SECONDS

SETTLE_SECONDS = 30.0
"""How long after a change members may take to notice that they need a restart: a few loops of Patroni."""
_LOOPS = 2.5


@dataclass
class Synchronized:
    """What each database was last compared with, by the uid of its cluster. Only hashes of passwords are kept."""

    seen: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    changed: dict[str, float] = field(default_factory=dict)
    """When the parameters of a cluster were last compared or changed, until all members have noticed."""
    configured: dict[str, float] = field(default_factory=dict)
    """When the configuration of a cluster was last changed."""

    def is_current(self, cluster: Postgresql, fingerprint: bytes, now: float, period: float) -> bool:
        """Returns whether the database was compared with the same values, within the period."""
        known, at = self.seen.get(cluster.metadata.uid, (b"", 0.0))
        return known == fingerprint and now - at < period

    def remember(self, cluster: Postgresql, fingerprint: bytes, now: float) -> None:
        """Records a successful comparison."""
        self.seen[cluster.metadata.uid] = fingerprint, now
        self.unsettle(cluster, now)

    def unsettle(self, cluster: Postgresql, now: float) -> None:
        """Records that members may still find out that they need a restart."""
        self.changed[cluster.metadata.uid] = now

    def is_settled(self, cluster: Postgresql, now: float) -> bool:
        """Returns whether the members have had the time to load their parameters."""
        return now - self.changed.get(cluster.metadata.uid, now) > SETTLE_SECONDS

    def is_loading(self, cluster: Postgresql, now: float) -> bool:
        """Returns whether a member may not have seen the last change of the configuration: each one looks by itself."""
        changed = self.configured.get(cluster.metadata.uid)
        settings = cluster.spec.patroni
        loop = (settings.loop_wait if settings is not None else None) or LOOP_SECONDS
        return changed is not None and now - changed < _LOOPS * loop

    def forget(self, uid: str) -> None:
        """Forgets a deleted cluster."""
        self.configured.pop(uid, None)
        self.seen.pop(uid, None)
        self.changed.pop(uid, None)


def fingerprint_of(cluster: Postgresql, passwords: Mapping[str, str], primary: str) -> bytes:
    """Returns a hash of everything that the database depends on."""
    spec = cluster.spec
    parts = (
        spec.users,
        spec.databases,
        spec.prepared_databases,
        spec.postgresql.parameters,
        spec.patroni,
        sorted(passwords.items()),
        primary,
    )
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).digest()


def credentials_of(passwords: Mapping[str, str]) -> str:
    """Returns a value that changes with the passwords of the operator's own users, which pods have in variables.

    These are random and have 64 characters, so a part of their hash reveals nothing.
    """
    own = [passwords[user] for user in SYSTEM_USERS]
    return hashlib.sha256(msgspec.json.encode(own)).hexdigest()[:16]


async def synchronize_database(
    cluster: Postgresql,
    ctx: kw.Context[Postgresql],
    engine: Engine,
    address: Address,
    passwords: Mapping[str, str],
    primary: core.Pod,
) -> Changes:
    """Makes roles, databases and passwords as the spec and the Secrets say. Can be repeated at any time.

    If all Secrets with the superuser's password were lost, the database follows the new ones: the password is set in
    the pod of the primary.
    """
    spec = cluster.spec
    content = wanted(
        cluster.metadata.name,
        users=spec.users,
        databases=spec.databases,
        prepared=spec.prepared_databases,
        passwords=passwords,
    )
    try:
        return await engine.synchronize(address, passwords[SUPERUSER], content)
    except WrongPassword as rejected:
        try:
            await engine.set_passwords(ctx.client, primary, {user: passwords[user] for user in SYSTEM_USERS})
        except AccessLost as error:
            raise AccessLost(f"{rejected}, and it cannot be restored: {error}") from None
        ctx.record("AccessRestored", "set the passwords of the operator's own users to those of their Secrets")
    return await engine.synchronize(address, passwords[SUPERUSER], content)
