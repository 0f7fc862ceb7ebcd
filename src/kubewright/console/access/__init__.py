"""Viewers, their permissions and their sessions.

- A `Viewer` is a user with their own client. The console performs every action with that client.
- `Access` asks the API server what an identity may do, and caches the answers for some seconds. A `Visibility` is the
  set of objects of one kind that a viewer may see.
- `Sessions` holds the signed-in viewers in memory. `SignInThrottle` delays addresses whose sign-ins fail.
"""

from __future__ import annotations

from kubewright.console.access._permissions import ALL, READING, Access, All, Visibility
from kubewright.console.access._sessions import INVITATION, MAX_PER_VIEWER, MAX_SESSIONS, Session, Sessions, digest_of
from kubewright.console.access._throttle import FIRST_SECONDS, FREE_FAILURES, LONGEST_SECONDS, SignInThrottle
from kubewright.console.access._viewers import (
    FIELD_MANAGER,
    BearerToken,
    SignInDelayed,
    SignInError,
    SignInUnavailable,
    Viewer,
    username_of,
    with_token,
    without_credentials,
)

__all__ = [
    "ALL",
    "FIELD_MANAGER",
    "FIRST_SECONDS",
    "FREE_FAILURES",
    "INVITATION",
    "LONGEST_SECONDS",
    "MAX_PER_VIEWER",
    "MAX_SESSIONS",
    "READING",
    "Access",
    "All",
    "BearerToken",
    "Session",
    "Sessions",
    "SignInDelayed",
    "SignInError",
    "SignInThrottle",
    "SignInUnavailable",
    "Viewer",
    "Visibility",
    "digest_of",
    "username_of",
    "with_token",
    "without_credentials",
]
