"""`kubewright ui --audit-log`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

__all__ = ["audited"]


@contextlib.contextmanager
def audited(target: str) -> Iterator[None]:
    """Writes the audit of the console to a file, or to standard output for `-`."""
    import logging

    from kubewright.console import audit_to

    try:
        handler = audit_to(target)
    except OSError as error:
        raise click.ClickException(f"--audit-log {target}: {error.strerror}") from None
    try:
        yield
    finally:
        logging.getLogger("kubewright.console.audit").removeHandler(handler)
        handler.close()
