"""Impersonation: the request headers, and who may use them.

The server tries several modes, the narrow ones first. Each needs a permission for the request itself
(`impersonate-on:user-info:list`) and one for the impersonated user (`impersonate:user-info` on `users`). The last is
the legacy mode, which needs only `impersonate`. If all modes are denied, the server returns the first denial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

from kubewright.client import Request
from kubewright.cluster.access._requests import AccessRequest, access_request_of, quoted, refusal
from kubewright.cluster.access._users import account_groups, account_of, node_of, with_authentication_group
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._failures import Failure, bad_request
from kubewright.lru import LRUMemory

__all__ = ["Impersonation", "impersonates"]

_PREFIX: Final = "impersonate-"
_EXTRA: Final = "impersonate-extra-"
_REVIEWS: Final = "authentication.k8s.io"
_NODES: Final = "system:nodes"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
_SUPERUSERS: Final = "system:masters"
_MANY_CHECKS: Final = 4
_MODES_SIZE: Final = 10_000
Check = Callable[[AccessRequest], None]
"""Raises the 403 of an access request that is not allowed."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    uid: str
    groups: tuple[str, ...]
    extra: dict[str, tuple[str, ...]]

    @property
    def only_name(self) -> bool:
        return not (self.uid or self.groups or self.extra)


def impersonates(request: Request) -> bool:
    """Returns whether the request has impersonation headers."""
    return any(name[:12].lower() == _PREFIX for name in request.headers)


class Impersonation:
    """Resolves impersonated users. Remembers the mode that last succeeded for each user and tries it first.

    As a result, the 403 of a user of the legacy mode names the permission that is missing there.
    """

    def __init__(self, check: Check) -> None:
        self._check = check
        self._modes: LRUMemory[str, str] = LRUMemory(_MODES_SIZE)

    def user_of(self, request: Request, user: User) -> tuple[User, str]:
        """Returns the impersonated user and the constrained mode that allows it (empty for the legacy mode).

        Raises a 403 if no mode allows it.
        """
        wanted = _wanted(request)
        if wanted is None:
            return user, ""
        access_request = access_request_of(request, user)
        last = self._modes.get(user.name)
        modes = sorted(_modes(wanted, user), key=lambda mode: mode != last)
        refused: list[Failure] = []
        for mode in modes:
            try:
                if mode:
                    self._check(access_request.to(f"impersonate-on:{mode}:{access_request.verb}"))
                _check_wanted(wanted, user, mode, self._check)
            except Failure as failure:
                refused.append(failure)
            else:
                self._modes.put(user.name, mode)
                return _impersonated_user(wanted, mode), mode
        raise refused[0]


def _wanted(request: Request) -> _Wanted | None:
    name, uid, groups = "", "", []
    extra: dict[str, list[str]] = {}
    for header, value in request.headers.items():  # a header may occur several times
        lower, value = header.lower(), value.encode(errors="replace").decode()  # the value may contain surrogates
        if lower == "impersonate-user":
            name = name or value
        elif lower == "impersonate-uid":
            uid = uid or value
        elif lower == "impersonate-group":
            groups.append(value)
        elif lower.startswith(_EXTRA):
            extra.setdefault(unquote(lower.removeprefix(_EXTRA)), []).append(value)
    wanted = _Wanted(name, uid, tuple(groups), {key: tuple(values) for key, values in extra.items()})
    if name:
        return wanted
    if wanted.only_name:
        return None
    raise bad_request(f"requested {_in_go(wanted)} without impersonating a user name")


def _modes(wanted: _Wanted, user: User) -> Iterator[str]:
    """Yields the modes that apply to the impersonated user, in the server's order; "" is the legacy mode."""
    node = node_of(wanted.name)
    if wanted.only_name and node is not None:
        if account_of(user.name) is not None and user.extra.get(_NODE_NAME) == (node,):
            yield "associated-node"
        yield "arbitrary-node"
    if wanted.only_name and account_of(wanted.name) is not None:
        yield "serviceaccount"
    if node is None and account_of(wanted.name) is None:
        yield "user-info"
    yield ""


def _check_wanted(wanted: _Wanted, user: User, mode: str, check: Check) -> None:
    verb = f"impersonate:{mode}" if mode else "impersonate"
    ask = AccessRequest(user=user, verb=verb, group=_REVIEWS if mode else "")
    account, node = account_of(wanted.name), node_of(wanted.name)
    if account is not None:
        check(replace(ask, resource="serviceaccounts", namespace=account[0], name=account[1]))
    elif mode and node is not None:
        check(replace(ask, resource="nodes", name="*" if mode == "associated-node" else node))
    else:
        check(replace(ask, resource="users", name=wanted.name))
    if wanted.uid:
        check(replace(ask, group=_REVIEWS, resource="uids", name=wanted.uid))
    if wanted.groups:
        _check_groups(wanted.groups, replace(ask, resource="groups"), check, constrained=bool(mode))
    if wanted.extra:
        _check_extra(wanted.extra, replace(ask, group=_REVIEWS, resource="userextras"), check, constrained=bool(mode))


def _check_groups(groups: tuple[str, ...], ask: AccessRequest, check: Check, *, constrained: bool) -> None:
    if constrained:
        if "" in groups:
            raise refusal(ask, "impersonating the empty string group is not allowed")
        if _SUPERUSERS in groups:
            text = f"impersonating the {_SUPERUSERS} group is not allowed"
            raise refusal(replace(ask, name=_SUPERUSERS), text)
        if len(groups) >= _MANY_CHECKS and _passes(replace(ask, name="*"), check):
            return
    for group in groups:
        check(replace(ask, name=group))


def _check_extra(extra: dict[str, tuple[str, ...]], ask: AccessRequest, check: Check, *, constrained: bool) -> None:
    if constrained:
        if "" in extra:
            raise refusal(ask, "impersonating the empty string key in extra is not allowed")
        if any("" in values for values in extra.values()):
            raise refusal(ask, "impersonating the empty string value in extra is not allowed")
        if sum(map(len, extra.values())) >= _MANY_CHECKS and _passes(replace(ask, subresource="*", name="*"), check):
            return
    for key, values in extra.items():
        for value in values:
            check(replace(ask, subresource=key, name=value))


def _passes(access_request: AccessRequest, check: Check) -> bool:
    try:
        check(access_request)
    except Failure:
        return False
    return True


def _impersonated_user(wanted: _Wanted, mode: str) -> User:
    groups, account = wanted.groups, account_of(wanted.name)
    if mode.endswith("-node"):
        groups = (_NODES,)
    elif account is not None and not groups:  # an account keeps its own groups unless the request names groups
        groups = account_groups(account[0])
    return replace(with_authentication_group(wanted.name, groups), uid=wanted.uid, extra=wanted.extra)


def _in_go(wanted: _Wanted) -> str:
    """Formats the user as Go's `%#v` does."""

    def strings(values: tuple[str, ...]) -> str:
        return "[]string{" + ", ".join(map(quoted, values)) + "}" if values else "[]string(nil)"

    pairs = ", ".join(f"{quoted(key)}:{strings(values)}" for key, values in sorted(wanted.extra.items()))
    extra = f"map[string][]string{{{pairs}}}" if pairs else "map[string][]string(nil)"
    name, uid = quoted(wanted.name), quoted(wanted.uid)
    return f"&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{strings(wanted.groups)}, Extra:{extra}}}"
