"""Parses PEM, PKCS#10 requests and certificates, with the error messages of Go."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509

__all__ = ["InvalidRequest", "certificate_problem", "parse_request", "pem_blocks", "request_problem"]

_BEGIN: Final = b"-----BEGIN "
_END: Final = b"\n-----END "
_DASHES: Final = b"-----"
_HEADER: Final = re.compile(rb"^[^:\n]+:[^\n]*\n", re.MULTILINE)
_SMALLEST_RSA_KEY: Final = 1024
_CURVES: Final = frozenset({"secp224r1", "secp256r1", "secp384r1", "secp521r1"})


class InvalidRequest(ValueError):
    """A request that is not PKCS#10 in PEM; the message is that of the real server where Go's is known."""


class Block(NamedTuple):
    """One block of a PEM file."""

    type: str
    has_headers: bool
    content: bytes


def pem_blocks(data: bytes) -> Iterator[Block]:
    """Yields the blocks of a PEM file. Skips everything else, as Go does. Takes linear time."""
    data = b"\n" + data.replace(b"\r\n", b"\n")
    at, end = data.find(b"\n" + _BEGIN), -1
    while at >= 0:
        line = data.find(b"\n", at + 1)
        if end < line:
            end = data.find(_END, line)
        if line < 0 or end < 0:
            return
        type_ = data[at + 1 + len(_BEGIN) : line].rstrip()
        last = data[end + len(_END) : end + len(_END) + len(type_)]
        if type_.endswith(_DASHES) and last == type_:
            body, headers = _HEADER.subn(b"", data[line + 1 : end + 1])
            with suppress(binascii.Error):
                content = base64.b64decode(b"".join(body.split()), validate=True)
                yield Block(type_.removesuffix(_DASHES).decode(errors="replace"), bool(headers), content)
            line = end
        at = data.find(b"\n" + _BEGIN, line)


def parse_request(encoded: str) -> x509.CertificateSigningRequest:
    """Returns the request in the field `spec.request`. Raises `InvalidRequest`."""
    from cryptography import x509

    block = next(pem_blocks(_decoded(encoded)), None)
    if block is None or block.type != "CERTIFICATE REQUEST":
        raise InvalidRequest("PEM block type must be CERTIFICATE REQUEST")
    try:
        request = x509.load_der_x509_csr(block.content)
        # The library parses these on first use; later code relies on them.
        _ = request.subject, request.extensions, request.public_key()
    except Exception as error:  # the library raises more than ValueError for hostile input
        raise InvalidRequest("x509: malformed certificate request") from error
    return request


def request_problem(encoded: str) -> str:
    """Returns why the field `spec.request` is invalid: its form or its signature. Empty if it is valid."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    try:
        request = parse_request(encoded)
    except InvalidRequest as error:
        return str(error)
    key = request.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < _SMALLEST_RSA_KEY:
            where = "https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size"
            return f"crypto/rsa: {key.key_size}-bit keys are insecure (see {where})"
        problem = "crypto/rsa: verification error"
    elif isinstance(key, ec.EllipticCurvePublicKey):
        if key.curve.name not in _CURVES:
            return "x509: unsupported elliptic curve"
        problem = "x509: ECDSA verification failure"
    elif isinstance(key, ed25519.Ed25519PublicKey):
        problem = "x509: Ed25519 verification failure"
    else:
        return "x509: cannot verify signature: algorithm unimplemented"
    try:
        return "" if request.is_signature_valid else problem
    except Exception:  # an algorithm that the library does not support
        return "x509: cannot verify signature: algorithm unimplemented"


def certificate_problem(encoded: str) -> str:
    """Returns why the field `status.certificate` is invalid. Empty if it is valid, or not set."""
    from cryptography import x509

    data, blocks = _decoded(encoded), 0
    if not data:
        return ""
    for block in pem_blocks(data):
        if block.type != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.type}"'
        if block.has_headers:
            return "no PEM block headers are permitted"
        blocks += 1
        if not block.content:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            x509.load_der_x509_certificate(block.content)
        except ValueError:
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded)
    except binascii.Error:
        return b""
