"""The API calls of an operator: the permissions that it declares, and the client that enforces them.

`permissions_of` derives the permissions from registrations; roles are generated from them. `DeclaredAccess` rejects a
call that `verbs=` excludes before it is sent. `observing_calls` lets test tools see each call of the runs that start
within its block.
"""

from __future__ import annotations

from kubewright.operator.access._declared import CallObserver, DeclaredAccess, observing_calls
from kubewright.operator.access._permissions import (
    for_installing,
    for_leading,
    for_reviewing,
    needed,
    permissions_of,
)

__all__ = [
    "CallObserver",
    "DeclaredAccess",
    "for_installing",
    "for_leading",
    "for_reviewing",
    "needed",
    "observing_calls",
    "permissions_of",
]
