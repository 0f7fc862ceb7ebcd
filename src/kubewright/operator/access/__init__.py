"""The API calls of an operator: the permissions that it declares, and the client that enforces them.

`permissions_of` derives the permissions from registrations; roles are generated from them. `DeclaredAccess` rejects a
call that `verbs=` excludes before it is sent. `observing_calls` lets test tools see each call of the runs that start
within its block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.operator.access._declared import CallObserver, DeclaredAccess, observing_calls
    from kubewright.operator.access._permissions import (
        for_following,
        for_installing,
        for_leading,
        for_reviewing,
        needed,
        permissions_of,
    )

_MODULES = {
    "CallObserver": "_declared",
    "DeclaredAccess": "_declared",
    "for_following": "_permissions",
    "for_installing": "_permissions",
    "for_leading": "_permissions",
    "for_reviewing": "_permissions",
    "needed": "_permissions",
    "observing_calls": "_declared",
    "permissions_of": "_permissions",
}

__all__ = [
    "CallObserver",
    "DeclaredAccess",
    "for_following",
    "for_installing",
    "for_leading",
    "for_reviewing",
    "needed",
    "observing_calls",
    "permissions_of",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
