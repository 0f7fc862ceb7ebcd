"""`kubewright ui --tls-self-signed`: a certificate for one run."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import click

__all__ = ["self_signed"]

_LIFE = timedelta(days=398)  # the longest that browsers accept


@contextlib.contextmanager
def self_signed(bind: str, urls: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Creates a certificate and its key as private files, and deletes them afterwards.

    Prints the fingerprint, so that users can compare it with the one in the browser.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    from kubewright.certificates import CertificateAuthority

    names = {"localhost", "127.0.0.1", "::1", *(urlsplit(url).hostname or "" for url in urls)}
    if bind not in ("0.0.0.0", "::"):  # noqa: S104  # those are no names
        names.add(bind)
    pair = CertificateAuthority("kubewright-console", life=_LIFE).issue(
        "kubewright-console", hosts=sorted(names - {""}), life=_LIFE
    )
    fingerprint = x509.load_pem_x509_certificate(pair.certificate).fingerprint(hashes.SHA256()).hex(":").upper()
    click.echo(f"TLS certificate, SHA-256 fingerprint: {fingerprint}", err=True)
    with tempfile.TemporaryDirectory(prefix="kubewright-") as folder:
        certificate, key = pair.write(Path(folder), "tls")
        yield str(certificate), str(key)
