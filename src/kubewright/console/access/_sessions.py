"""Who has come in: sessions, and the invitations that begin them. All of it in memory, and nowhere else.

The browser has a cookie whose value nobody can guess; here is only its digest. An invitation is a word in an address
that is printed for whoever started the console; it is good for one use.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kubewright.clock import Clock, SystemClock
from kubewright.console.access._viewers import Viewer

__all__ = ["INVITATION", "Session", "Sessions", "digest_of"]

INVITATION: Final = "invitation"
"""The parameter of an address that holds one."""

_LIFE_SECONDS: Final = 12 * 3600.0
_IDLE_SECONDS: Final = 2 * 3600.0
_INVITATION_SECONDS: Final = 24 * 3600.0
_AT_MOST: Final = 1_000
_PER_VIEWER: Final = 20  # browsers and tokens of one person; each may keep pages open
_INVITATIONS: Final = 100


def digest_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(eq=False)
class Session:
    """Somebody who has come in. `key` tells sessions apart and is no secret."""

    key: str
    viewer: Viewer = field(repr=False)
    local: bool = False
    """Whether this is whoever started the console: he may look at other contexts of his kubeconfig."""
    expires_at: float = 0.0
    last_used_at: float = 0.0
    on_end: list[Callable[[], None]] = field(default_factory=list, repr=False)
    context_viewers: dict[str, Viewer] = field(default_factory=dict, repr=False)
    """The same user in other contexts of the kubeconfig, by context."""


class Sessions:
    """All sessions of a console. One ends after 12 hours, or after 2 in which nothing was heard of it.

    A viewer has at most 20 sessions: a new one ends the viewer's least recently used one. All viewers together have at
    most 1,000: a new one ends a session of the viewer who has most, so no viewer signs another one out by signing in.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._invitations: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter([*self._sessions.values()])

    def begin(self, viewer: Viewer, *, local: bool = False) -> tuple[Session, str]:
        """A new session, and the value of its cookie: the only time that anybody sees it."""
        secret = secrets.token_urlsafe(32)
        return self.begin_with(secret, viewer, local=local), secret

    def begin_with(self, secret: str, viewer: Viewer, *, local: bool = False) -> Session:
        """A session that is found by a secret that somebody else has made: a bearer token."""
        now = self._clock.monotonic()
        session = Session(digest_of(secret), viewer, local, expires_at=now + _LIFE_SECONDS, last_used_at=now)
        self._sessions[session.key] = session
        viewer.on_rejected = lambda: self.end(session)
        if self._count(viewer.name) > _PER_VIEWER:
            self._end_oldest(viewer.name)
        if len(self._sessions) > _AT_MOST:
            counts = Counter(one.viewer.name for one in self._sessions.values())
            self._end_oldest(counts.most_common(1)[0][0])  # of equals, the one whose session is least recently used
        return session

    def _count(self, viewer: str) -> int:
        return sum(one.viewer.name == viewer for one in self._sessions.values())

    def _end_oldest(self, viewer: str) -> None:
        self.end(next(one for one in self._sessions.values() if one.viewer.name == viewer))

    def find(self, secret: str) -> Session | None:
        """The session of a cookie or token, if it has not ended. That it was asked for keeps it."""
        session = self._sessions.get(digest_of(secret))
        if session is None or not self._alive(session):
            return None
        session.last_used_at = self._clock.monotonic()
        self._sessions.move_to_end(session.key)
        return session

    def alive(self, session: Session) -> bool:
        """Whether it has not ended."""
        return self._sessions.get(session.key) is session and self._alive(session)

    def touch(self, session: Session) -> None:
        """Something was heard of it: a page is open."""
        session.last_used_at = self._clock.monotonic()

    def _alive(self, session: Session) -> bool:
        now = self._clock.monotonic()
        if now < session.expires_at and now < session.last_used_at + _IDLE_SECONDS:
            return True
        self.end(session)
        return False

    def end(self, session: Session) -> None:
        """Sign out. Harmless when repeated."""
        if self._sessions.pop(session.key, None) is not None:
            for callback in [*session.on_end]:
                callback()

    def sweep(self) -> None:
        """End those whose time has come."""
        for session in [*self._sessions.values()]:
            self._alive(session)

    # Invitations

    def invite(self) -> str:
        """A word that lets somebody in, once, within a day."""
        word = secrets.token_urlsafe(32)
        self._invitations[digest_of(word)] = self._clock.monotonic() + _INVITATION_SECONDS
        while len(self._invitations) > _INVITATIONS:
            self._invitations.popitem(last=False)
        return word

    def redeem(self, word: str) -> bool:
        """Whether the word was good. It is not any more."""
        until = self._invitations.pop(digest_of(word), None)
        return until is not None and self._clock.monotonic() < until
