"""Health checks and pages: the type of a check, and the validation of new ones.

A check is a function without arguments, plain or async. It succeeds if it returns None or True. If it returns a string,
it failed, and the endpoint shows the string as the reason. If it returns False or raises, it failed, and the reason is
only logged: an exception may contain data that clients of the endpoint must not see.

Plain checks run in the event loop and must not block it. A blocked event loop needs no check of its own: the request
of the probe gets no response, and its timeout fails the probe.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final, TypeAlias

from kubewright.arguments import check_string

__all__ = ["BUILT_IN_CHECKS", "Check", "check_health_check", "check_page_path"]

Check: TypeAlias = Callable[[], "bool | str | Awaitable[bool | str | None] | None"]
"""A health check. The module's docstring has the contract."""

BUILT_IN_CHECKS: Final = ("ping", "caches", "stopping", "webhooks")
"""The names of the checks that every operator has."""

_BUILT_IN_PAGES: Final = ("metrics", "healthz", "readyz", "debug")
_PATH: Final = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9_.-]{0,62}){1,8}")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def check_health_check(name: str, check: Check, taken: Mapping[str, Check]) -> None:
    """Raises for a name that cannot be part of a path or is in use, and for a check that is not a function."""
    if not _NAME.fullmatch(check_string("the name of a check", name, "database")):
        raise ValueError(f"the name of a check must be letters, digits, '-', '_' and '.', not {name!r}")
    if name in taken or name in BUILT_IN_CHECKS:
        raise ValueError(f"there is already a check {name!r}: use another name")
    if not callable(check):
        raise TypeError(f"a check must be a function without arguments, not {check!r}")


def check_page_path(path: str, taken: Collection[str]) -> None:
    """Raises for a path that cannot be served or is in use."""
    if not _PATH.fullmatch(check_string("the path of a page", path, "/status")):
        raise ValueError(f"the path of a page must begin with / and not end with it, such as /status, not {path!r}")
    if path in taken or path.split("/")[1] in _BUILT_IN_PAGES:
        raise ValueError(f"there is already a page {path!r}: use another path")
