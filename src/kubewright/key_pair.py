"""`KeyPair`: a certificate and its key. Separate from `certificates`, so that it can be used without `cryptography`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["KeyPair", "write_private"]


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Writes `<name>.crt` and `<name>.key` with permissions for this user only."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        write_private(certificate, self.certificate)
        write_private(key, self.key)
        return certificate, key


def write_private(path: Path, content: bytes) -> None:
    """Creates a file with permissions for this user only."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        os.fchmod(out.fileno(), 0o600)
        out.write(content)
