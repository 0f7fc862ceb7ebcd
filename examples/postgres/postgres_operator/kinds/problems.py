"""What is wrong with a cluster's spec, beyond its schema."""

import re

from postgres_operator.kinds.configuration import Configuration
from postgres_operator.kinds.postgresql import Postgresql
from postgres_operator.kinds.unsupported import refused_in

LONGEST_NAME = 52  # the label of a pod's revision is the name and 11 characters, at most 63
SYSTEM_USERS = ("postgres", "standby")
"""The operator's user, and the one of the replicas."""
_ARCHIVE = (
    "timestamp",
    "s3_wal_path",
    "s3_endpoint",
    "s3_access_key_id",
    "s3_secret_access_key",
    "s3_force_path_style",
)
"""Fields of a clone that describe a state of the past."""
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_USER = re.compile(r"[a-z0-9]([-_a-z0-9]{0,61}[a-z0-9])?")
_DATABASE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,62}")


def problems_of(cluster: Postgresql, config: Configuration) -> list[str]:
    """Returns why the cluster cannot be created or updated: field, reason and fix. Empty if it can."""
    spec, name = cluster.spec, cluster.metadata.name
    found = [
        f"{field} is not supported, and the cluster would start without the data it names; remove the field"
        for field in refused_in(spec)
    ]
    team = spec.team_id.lower()
    if config.enable_team_id_clustername_prefix and not (name.startswith(f"{team}-") and len(name) > len(team) + 1):
        found.append(f"metadata.name must start with the team and a dash: {team}-…")
    if len(name) > LONGEST_NAME:
        found.append(f"metadata.name has {len(name)} characters; at most {LONGEST_NAME} are possible")
    if not _NAME.fullmatch(name):
        found.append("metadata.name must be the name of a Service: lower case letters, digits and '-', no dots")
    return [*found, *_clone_problems(cluster), *_user_problems(cluster, config), *_database_problems(cluster)]


def _clone_problems(cluster: Postgresql) -> list[str]:
    clone = cluster.spec.clone
    if clone is None:
        return []
    found = [
        f"spec.clone.{name} is not supported: it needs an archive of the write-ahead log, which this operator does not "
        "have; remove it to copy the running cluster"
        for name in _ARCHIVE
        if getattr(clone, name)  # an empty timestamp means the running cluster
    ]
    if clone.cluster == cluster.metadata.name:
        found.append("spec.clone.cluster is the cluster itself; name another one")
    return found


def _user_problems(cluster: Postgresql, config: Configuration) -> list[str]:
    found: list[str] = []
    seen: dict[str, str] = {}
    for user, flags in (cluster.spec.users or {}).items():
        if not _USER.fullmatch(user):
            found.append(f"spec.users.{user}: a user name has lower case letters, digits, '_' and '-', at most 63")
        if user in SYSTEM_USERS:
            found.append(f"spec.users.{user}: the operator manages this user; remove it from the users")
        if user in config.teams_api.protected_role_names:
            found.append(f"spec.users.{user}: the configuration protects this role; choose another name")
        same = seen.setdefault(user.replace("_", "-"), user)
        if same != user:
            found.append(f"spec.users.{user}: the Secret of user {same} has the same name; rename one of them")
        lower = [flag.lower() for flag in flags or []]
        found += [
            f"spec.users.{user}: the flags {flag} and no{flag} contradict each other"
            for flag in sorted(set(lower))
            if f"no{flag}" in lower
        ]
    return found


def _database_problems(cluster: Postgresql) -> list[str]:
    spec = cluster.spec
    owners = {*(spec.users or {}), SYSTEM_USERS[0]}
    for prepared in spec.prepared_databases or {}:
        owners |= {f"{prepared}_owner", f"{prepared}_reader", f"{prepared}_writer"}
    found: list[str] = []
    for field, names in (("databases", spec.databases), ("preparedDatabases", spec.prepared_databases)):
        found += [
            f"spec.{field}.{name}: a database name has letters, digits and '_', at most 63, and no leading digit"
            for name in names or {}
            if not _DATABASE.fullmatch(name)
        ]
    found += [
        f"spec.databases.{name}: the owner {owner} is not in spec.users; add it"
        for name, owner in (spec.databases or {}).items()
        if owner not in owners
    ]
    found += [
        f"spec.preparedDatabases.{name} is in spec.databases, too; remove one of them"
        for name in spec.prepared_databases or {}
        if name in (spec.databases or {})
    ]
    found += [
        f"spec.preparedDatabases.{name}.secretNamespace is not supported; Secrets are in the cluster's namespace"
        for name, prepared in (spec.prepared_databases or {}).items()
        if prepared.secret_namespace is not None
    ]
    return found
