"""Acting as somebody else: the headers, and who may use them.

The server tries several ways to allow it, the narrow ones first: each needs a permission for the request itself
(`impersonate-on:user-info:list`) and one for whom to impersonate (`impersonate:user-info` on `users`). The last is the
old one, which needs only `impersonate`. When none is open, the answer is the refusal of the first that was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

from kubewright.client import Request
from kubewright.cluster._calls import User
from kubewright.cluster._failures import Failure, bad_request
from kubewright.cluster.access._questions import Question, question_of, quoted, refusal
from kubewright.cluster.access._users import account_groups, account_of, completed, node_of

__all__ = ["Impersonation", "impersonates"]

_PREFIX: Final = "impersonate-"
_EXTRA: Final = "impersonate-extra-"
_REVIEWS: Final = "authentication.k8s.io"
_NODES: Final = "system:nodes"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
_SUPERUSERS: Final = "system:masters"
_MANY: Final = 4
_MOST_REMEMBERED: Final = 10_000
Check = Callable[[Question], None]
"""Raises the refusal of what may not be."""


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
    """Whether the request has headers of impersonation."""
    return any(name[:12].lower() == _PREFIX for name in request.headers)


class Impersonation:
    """Finds out whom requests are to be taken for. It remembers which way was the last that was open to each user.

    That way is tried first the next time: so whoever uses the old one is told what is missing there.
    """

    def __init__(self, check: Check) -> None:
        self._check = check
        self._last: dict[str, str] = {}

    def user_of(self, request: Request, user: User) -> tuple[User, str]:
        """The user that a request of another user is to be taken for, and the mode of the constraint that allows it.

        Raises the refusal when it may not be.
        """
        wanted = _wanted(request)
        if wanted is None:
            return user, ""
        question = question_of(request, user)
        modes = sorted(_modes(wanted, user), key=lambda mode: mode != self._last.get(user.name))
        refused: list[Failure] = []
        for mode in modes:
            try:
                if mode:
                    self._check(question.to(f"impersonate-on:{mode}:{question.verb}"))
                _check_wanted(wanted, user, mode, self._check)
            except Failure as failure:
                refused.append(failure)
            else:
                self._remember(user.name, mode)
                return _made(wanted, mode), mode
        raise refused[0]

    def _remember(self, name: str, mode: str) -> None:
        self._last.pop(name, None)
        self._last[name] = mode
        if len(self._last) > _MOST_REMEMBERED:
            del self._last[next(iter(self._last))]


def _wanted(request: Request) -> _Wanted | None:
    name, uid, groups = "", "", []
    extra: dict[str, list[str]] = {}
    for header, value in request.headers.items():  # a name may occur several times there
        lower, value = header.lower(), value.encode(errors="replace").decode()  # it may be no text
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
    """The ways that are open for this user to be impersonated, in the server's order; the old one has no name."""
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
    ask = Question(user=user, verb=verb, group=_REVIEWS if mode else "")
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


def _check_groups(groups: tuple[str, ...], ask: Question, check: Check, *, constrained: bool) -> None:
    if constrained:
        if "" in groups:
            raise refusal(ask, "impersonating the empty string group is not allowed")
        if _SUPERUSERS in groups:
            text = f"impersonating the {_SUPERUSERS} group is not allowed"
            raise refusal(replace(ask, name=_SUPERUSERS), text)
        if len(groups) >= _MANY and _passes(replace(ask, name="*"), check):
            return
    for group in groups:
        check(replace(ask, name=group))


def _check_extra(extra: dict[str, tuple[str, ...]], ask: Question, check: Check, *, constrained: bool) -> None:
    if constrained:
        if "" in extra:
            raise refusal(ask, "impersonating the empty string key in extra is not allowed")
        if any("" in values for values in extra.values()):
            raise refusal(ask, "impersonating the empty string value in extra is not allowed")
        if sum(map(len, extra.values())) >= _MANY and _passes(replace(ask, subresource="*", name="*"), check):
            return
    for key, values in extra.items():
        for value in values:
            check(replace(ask, subresource=key, name=value))


def _passes(question: Question, check: Check) -> bool:
    try:
        check(question)
    except Failure:
        return False
    return True


def _made(wanted: _Wanted, mode: str) -> User:
    groups, account = wanted.groups, account_of(wanted.name)
    if mode.endswith("-node"):
        groups = (_NODES,)
    elif account is not None and not groups:  # it is in its own groups unless others are asked for
        groups = account_groups(account[0])
    return replace(completed(wanted.name, groups), uid=wanted.uid, extra=wanted.extra)


def _in_go(wanted: _Wanted) -> str:
    """As Go prints such a value."""

    def texts(values: tuple[str, ...]) -> str:
        return "[]string{" + ", ".join(map(quoted, values)) + "}" if values else "[]string(nil)"

    pairs = ", ".join(f"{quoted(key)}:{texts(values)}" for key, values in sorted(wanted.extra.items()))
    extra = f"map[string][]string{{{pairs}}}" if pairs else "map[string][]string(nil)"
    name, uid = quoted(wanted.name), quoted(wanted.uid)
    return f"&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{texts(wanted.groups)}, Extra:{extra}}}"
