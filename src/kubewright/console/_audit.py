"""The audit log: who signed in, and who changed which fields of which object. It never contains a value.

Each record is one line of JSON, logged at INFO by the logger `kubewright.console.audit`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kubewright.clock import Clock
from kubewright.console.kinds import Kind
from kubewright.rotating_file import RotatingFile

if TYPE_CHECKING:
    from kubewright.console.forms import RecordWrite

__all__ = ["Audit", "audit_to"]

logger = logging.getLogger("kubewright.console.audit")
_file_errors = logging.getLogger("kubewright.console")

_MAX_FIELDS: Final = 100
_FILE_BYTES: Final = 10_000_000
_FILES: Final = 5


class Audit:
    """Writes the records of a console."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def signed_in(self, user: str, address: str, how: str) -> None:
        """Records a sign-in: by `token`, `invitation` or `oidc`."""
        self._write(user=user, verb="sign-in", address=address, how=how, outcome="ok")

    def sign_in_failed(self, address: str) -> None:
        """Records a sign-in with an unknown token."""
        self._write(user="", verb="sign-in", address=address, outcome="refused")

    def signed_out(self, user: str) -> None:
        """Records that a user signed out."""
        self._write(user=user, verb="sign-out", outcome="ok")

    def of_terminal(self, user: str, namespace: str, pod: str, container: str) -> Callable[[str], None]:
        """Returns a function that records that a user opened a shell. Input and output are not recorded."""
        place = {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": pod, "container": container}
        return lambda outcome: self._write(user=user, verb="exec", **place, outcome=outcome)

    def of(self, user: str, kind: Kind) -> RecordWrite:
        """Returns a function that records a user's writes to objects of a kind."""

        def record(verb: str, namespace: str | None, name: str, fields: Sequence[str], outcome: str) -> None:
            more = {"fieldsOmitted": len(fields) - _MAX_FIELDS} if len(fields) > _MAX_FIELDS else {}
            self._write(
                user=user,
                verb=verb,
                apiVersion=kind.api_version,
                kind=kind.kind,
                namespace=namespace or "",
                name=name,
                fields=[*fields[:_MAX_FIELDS]],
                outcome=outcome,
                **more,
            )

        return record

    def _write(self, **record: Any) -> None:
        logger.info("%s", msgspec.json.encode({"time": self._clock.now(), **record}).decode())


def audit_to(target: str) -> logging.Handler:
    """Writes the audit log to a file, or to standard output for `-`. Returns the handler; its `close` ends the log.

    Only the current user can read the file. It is rotated at 10 MB, and 5 old files are kept.
    """
    handler: logging.Handler
    if target == "-":
        handler = logging.StreamHandler(sys.stdout)
    else:
        handler = _FileHandler(
            RotatingFile(
                Path(target), what="audit log", logger=_file_errors, max_bytes=_FILE_BYTES, max_old_files=_FILES
            )
        )
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    return handler


class _FileHandler(logging.Handler):
    """Writes log records to a rotating file."""

    def __init__(self, file: RotatingFile) -> None:
        super().__init__()
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        self._file.write(f"{self.format(record)}\n".encode())

    def close(self) -> None:
        self._file.close()
        super().close()
