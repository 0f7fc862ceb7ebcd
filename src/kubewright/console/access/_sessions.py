"""Sessions, and the invitations that start them. Both are kept in memory only.

The browser holds a random cookie value; only its digest is stored here. An invitation is a random string in the URL
that the console prints for the user who started it. It can be used once.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kubewright.clock import Clock, SystemClock
from kubewright.console.access._viewers import Viewer
from kubewright.lru import LRUMemory

__all__ = ["INVITATION", "MAX_PER_VIEWER", "MAX_SESSIONS", "Session", "Sessions", "digest_of"]

logger = logging.getLogger("kubewright.console")

INVITATION: Final = "invitation"
"""The query parameter that carries an invitation."""

_LIFE_SECONDS: Final = 12 * 3600.0
_IDLE_SECONDS: Final = 2 * 3600.0
_INVITATION_SECONDS: Final = 24 * 3600.0
MAX_SESSIONS: Final = 1_000
MAX_PER_VIEWER: Final = 20  # browsers and tokens of one user; each may keep pages open
_MAX_INVITATIONS: Final = 100


def digest_of(secret: str) -> str:
    """Returns the digest under which a secret is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(eq=False)
class Session:
    """A signed-in viewer. `key` identifies the session and is not secret."""

    key: str
    viewer: Viewer = field(repr=False)
    local: bool = False
    """Whether this is the user who started the console, who may switch kubeconfig contexts."""
    expires_at: float = 0.0
    last_used_at: float = 0.0
    on_end: list[Callable[[], object]] = field(default_factory=list, repr=False)
    """Called once each when the session ends: by sign-out, expiry, or rejected credentials. Append a callback to close
    everything that the session has opened, such as a terminal.
    """
    context_viewers: dict[str, Viewer] = field(default_factory=dict, repr=False)
    """The same user in other kubeconfig contexts, by context name."""


class Sessions:
    """All sessions of a console. A session expires 12 hours after its start, or after 2 hours without use.

    A viewer has at most 20 sessions: a new one ends that viewer's least recently used one. All viewers together have at
    most 1,000: a new one ends a session of the viewer with the most sessions, so a viewer cannot sign out another one
    by signing in.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._invitations: LRUMemory[str, float] = LRUMemory(_MAX_INVITATIONS)

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter([*self._sessions.values()])

    def begin(self, viewer: Viewer, *, local: bool = False) -> tuple[Session, str]:
        """Starts a session and returns it with its cookie value, which is not stored."""
        secret = secrets.token_urlsafe(32)
        return self.begin_with(secret, viewer, local=local), secret

    def begin_with(self, secret: str, viewer: Viewer, *, local: bool = False) -> Session:
        """Starts a session that is found by an existing secret, such as a bearer token."""
        now = self._clock.monotonic()
        session = Session(digest_of(secret), viewer, local, expires_at=now + _LIFE_SECONDS, last_used_at=now)
        self._sessions[session.key] = session
        viewer.on_rejected = lambda: self.end(session)
        if self._count(viewer.name) > MAX_PER_VIEWER:
            self._end_oldest(viewer.name)
        if len(self._sessions) > MAX_SESSIONS:
            counts = Counter(one.viewer.name for one in self._sessions.values())
            self._end_oldest(
                counts.most_common(1)[0][0]
            )  # among equals, the viewer with the least recently used session
        return session

    def _count(self, viewer: str) -> int:
        return sum(one.viewer.name == viewer for one in self._sessions.values())

    def _end_oldest(self, viewer: str) -> None:
        self.end(next(one for one in self._sessions.values() if one.viewer.name == viewer))

    def find(self, secret: str) -> Session | None:
        """Returns the unexpired session of a cookie value or token, and marks it as used."""
        session = self._sessions.get(digest_of(secret))
        if session is None or not self._alive(session):
            return None
        session.last_used_at = self._clock.monotonic()
        self._sessions.move_to_end(session.key)
        return session

    def alive(self, session: Session) -> bool:
        """Whether the session has neither ended nor expired."""
        return self._sessions.get(session.key) is session and self._alive(session)

    def touch(self, session: Session) -> None:
        """Marks a session as used, because a page is open."""
        session.last_used_at = self._clock.monotonic()

    def _alive(self, session: Session) -> bool:
        now = self._clock.monotonic()
        if now < session.expires_at and now < session.last_used_at + _IDLE_SECONDS:
            return True
        self.end(session)
        return False

    def end(self, session: Session) -> None:
        """Ends a session. Idempotent."""
        if self._sessions.pop(session.key, None) is not None:
            for callback in [*session.on_end]:
                try:
                    callback()
                except Exception:  # the others must still be called
                    logger.exception("a callback for the end of a session failed")

    def sweep(self) -> None:
        """Ends expired sessions."""
        for session in [*self._sessions.values()]:
            self._alive(session)

    # Invitations

    def invite(self) -> str:
        """Returns a random string that signs in one user within a day."""
        invitation = secrets.token_urlsafe(32)
        self._invitations.put(digest_of(invitation), self._clock.monotonic() + _INVITATION_SECONDS)
        return invitation

    def redeem(self, invitation: str) -> bool:
        """Whether the invitation is valid. It is invalid afterwards."""
        until = self._invitations.pop(digest_of(invitation))
        return until is not None and self._clock.monotonic() < until
