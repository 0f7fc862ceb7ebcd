"""Who users are: anonymous ones, service accounts, nodes; and their groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubewright.cluster._calls import User
from kubewright.cluster._kinds import JSONObject
from kubewright.names import label_problems, subdomain_problems

__all__ = [
    "ANONYMOUS",
    "AUTHENTICATED",
    "account_groups",
    "account_of",
    "account_user",
    "completed",
    "node_of",
    "user_info",
    "user_named",
]

AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = User("system:anonymous", (UNAUTHENTICATED,))
_ACCOUNT: Final = "system:serviceaccount:"
_ACCOUNTS: Final = "system:serviceaccounts"
_NODE: Final = "system:node:"


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups of all service accounts of a namespace."""
    return (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}")


def account_of(user: str) -> tuple[str, str] | None:
    """The namespace and name of a service account, by its user name; None for any other user."""
    namespace, colon, name = user.removeprefix(_ACCOUNT).partition(":")
    if not user.startswith(_ACCOUNT) or not colon or label_problems(namespace) or subdomain_problems(name):
        return None
    return namespace, name


def account_user(namespace: str, name: str, uid: str = "", extra: Mapping[str, tuple[str, ...]] | None = None) -> User:
    """The user that a service account is."""
    groups = (*account_groups(namespace), AUTHENTICATED)
    return User(f"{_ACCOUNT}{namespace}:{name}", groups, uid, extra or {})


def node_of(user: str) -> str | None:
    """The name of a node, by its user name; None for any other user."""
    name = user.removeprefix(_NODE)
    return None if not user.startswith(_NODE) or subdomain_problems(name) else name


def user_named(name: str, groups: tuple[str, ...] = ()) -> User:
    """A user by name, with the groups that everyone of that kind is in, besides those that are given."""
    account = account_of(name)
    return completed(name, groups if account is None else (*account_groups(account[0]), *groups))


def completed(name: str, groups: tuple[str, ...]) -> User:
    """A user with the group that tells whether it is known who that is."""
    if name != ANONYMOUS.name and UNAUTHENTICATED in groups:
        return User(name, groups)
    last = UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED
    return User(name, groups if last in groups else (*groups, last))


def user_info(user: User) -> JSONObject:
    """A user as reviews show it."""
    info: JSONObject = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in sorted(user.extra.items())},
    }
    return {field: value for field, value in info.items() if value}
