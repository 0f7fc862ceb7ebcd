"""Users and their groups: anonymous users, service accounts and nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import label_problems, subdomain_problems

__all__ = [
    "ANONYMOUS",
    "AUTHENTICATED",
    "account_groups",
    "account_of",
    "account_user",
    "node_of",
    "user_info",
    "user_named",
    "with_authentication_group",
]

AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = User("system:anonymous", (UNAUTHENTICATED,))
_ACCOUNT: Final = "system:serviceaccount:"
_ACCOUNTS: Final = "system:serviceaccounts"
_NODE: Final = "system:node:"


def account_groups(namespace: str) -> tuple[str, ...]:
    """Returns the groups of all service accounts of a namespace."""
    return (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}")


def account_of(user: str) -> tuple[str, str] | None:
    """Returns the namespace and name of a service account by its user name; None for any other user."""
    namespace, colon, name = user.removeprefix(_ACCOUNT).partition(":")
    if not user.startswith(_ACCOUNT) or not colon or label_problems(namespace) or subdomain_problems(name):
        return None
    return namespace, name


def account_user(namespace: str, name: str, uid: str = "", extra: Mapping[str, tuple[str, ...]] | None = None) -> User:
    """Returns the user of a service account."""
    groups = (*account_groups(namespace), AUTHENTICATED)
    return User(f"{_ACCOUNT}{namespace}:{name}", groups, uid, extra or {})


def node_of(user: str) -> str | None:
    """Returns the name of a node by its user name; None for any other user."""
    name = user.removeprefix(_NODE)
    return None if not user.startswith(_NODE) or subdomain_problems(name) else name


def user_named(name: str, groups: tuple[str, ...] = ()) -> User:
    """Returns a user with the given groups and the implicit ones."""
    account = account_of(name)
    return with_authentication_group(name, groups if account is None else (*account_groups(account[0]), *groups))


def with_authentication_group(name: str, groups: tuple[str, ...]) -> User:
    """Returns a user with the group `system:authenticated` or `system:unauthenticated`."""
    if name != ANONYMOUS.name and UNAUTHENTICATED in groups:
        return User(name, groups)
    last = UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED
    return User(name, groups if last in groups else (*groups, last))


def user_info(user: User) -> JSONObject:
    """Returns the UserInfo of a user, as reviews contain it."""
    info: JSONObject = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in sorted(user.extra.items())},
    }
    return {field: value for field, value in info.items() if value}
