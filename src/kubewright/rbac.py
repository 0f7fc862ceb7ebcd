"""RBAC permissions: one verb on one resource at a time.

Declarations (`reconciles`, `owns`, `needs`) become permissions. Roles are generated from them, and calls are checked
against them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from kubewright.api import ResourceInfo
from kubewright.suggestions import nearest

__all__ = ["CLUSTER", "OWN", "VERBS", "WATCHED", "Permission", "check_verbs", "permission"]

VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
"""The verbs that the API server asks about for resources."""

WATCHED: Final = ""
"""The namespaces that the operator watches: some, or all."""
OWN: Final = "."
"""The namespace that the operator runs in."""
CLUSTER: Final = "*"
"""No namespace: for cluster-scoped kinds."""


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """One verb on one resource."""

    group: str = ""
    resource: str = ""
    """The plural, with the subresource behind a slash: `foos/status`."""
    verb: str
    where: str = WATCHED
    """`WATCHED`, `OWN`, `CLUSTER`, or the name of a namespace."""
    name: str = ""
    """The name of the only object that it covers. Empty: all objects."""
    url: str = ""
    """A path that is not a resource, such as `/metrics`. Such a permission has no resource."""
    why: str = ""
    """The declaration that needs it: `reconciles(Foo)`."""
    rare: bool = False
    """Whether an ordinary run works without it: it is needed for conflicts, failures or the server's own checks."""

    @property
    def qualified(self) -> str:
        """The resource as in errors and requests: `foos.example.com/status`."""
        plural, slash, part = self.resource.partition("/")
        return f"{plural}.{self.group}{slash}{part}" if self.group else self.resource

    def __str__(self) -> str:
        return f"{self.verb} {self.url or self.qualified}{f' {self.name}' if self.name else ''}"


def permission(
    info: ResourceInfo,
    verb: str,
    *,
    where: str | None = None,
    name: str = "",
    subresource: str | None = None,
    why: str = "",
    rare: bool = False,
) -> Permission:
    """Returns one verb on a kind or subresource. A cluster-scoped kind always has the scope `CLUSTER`."""
    return Permission(
        group=info.group,
        resource=f"{info.plural}/{subresource}" if subresource else info.plural,
        verb=verb,
        where=(WATCHED if where is None else where) if info.namespaced else CLUSTER,
        name=name,
        why=why,
        rare=rare,
    )


def check_verbs(what: str, verbs: Sequence[str], *, must: Iterable[str] = ()) -> tuple[str, ...]:
    """Returns verbs, each with an optional subresource (`"patch status"`), in a fixed order. Rejects unknown verbs."""
    given: object = verbs
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise TypeError(f'{what}: verbs takes a list, verbs=["get", "list", "watch"], not {verbs!r}')
    for text in verbs:
        verb, _, part = text.partition(" ")
        if verb not in VERBS or part != part.strip("/ "):
            meant = nearest(verb, VERBS)
            hint = f" Did you mean {meant!r}?" if meant else ""
            raise ValueError(f"{what}: {text!r} is not a verb.{hint} The verbs are: {', '.join(VERBS)}")
    if missing := [verb for verb in must if verb not in verbs]:
        raise ValueError(
            f"{what}: verbs lacks {' and '.join(missing)}, without which its objects cannot be watched; for a kind"
            " that is only written, use operator.needs(...)"
        )
    return tuple(sorted(set(verbs), key=lambda text: (text.partition(" ")[2], VERBS.index(text.partition(" ")[0]))))
