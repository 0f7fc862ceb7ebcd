"""What can go wrong between the operator and a database. No message contains a password."""

from __future__ import annotations

from collections.abc import Sequence


class DatabaseError(Exception):
    """A database did not do what it was asked for."""


class DatabaseUnreachable(DatabaseError):
    """No writable server answers at the address, or it does not answer in time. Retry later."""


class WrongPassword(DatabaseError):
    """The server rejects the password of the superuser: the Secret and the database differ."""


class StatementRefused(DatabaseError):
    """The server refuses a statement; the message is the server's."""


class SynchronizationFailed(DatabaseError):
    """Parts of what is wanted are refused; everything else is done.

    Attributes:
        failures: one sentence for each part.
        done: what was done, as in `Changes`.
    """

    def __init__(self, failures: Sequence[str], done: Sequence[str] = ()) -> None:
        self.failures = tuple(failures)
        self.done = tuple(done)
        super().__init__("; ".join(failures))
