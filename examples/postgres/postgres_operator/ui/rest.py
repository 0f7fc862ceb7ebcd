"""Reads the REST API of the operator, at `OPERATOR_API_URL`. The answers are bounded and may be anything.

Over HTTPS, `OPERATOR_API_CERTIFICATE` is a file with the operator's own certificate, or `OPERATOR_API_CA` one with its
CA.
"""

import asyncio
import http.client
import os
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

SECONDS = 5
LONGEST = 1_000_000
TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


class OperatorUnreachable(Exception):
    """The operator does not answer. The message names its address and the reason."""


def operator_url() -> str:
    """Returns the address of the operator; "" if it is not known."""
    return os.environ.get("OPERATOR_API_URL", "").rstrip("/")


async def read(url: str, path: str) -> dict[str, Any]:
    """Returns an answer as JSON. Over HTTPS, it sends the token of this pod after it verified the certificate."""
    try:
        body = await asyncio.to_thread(_get, f"{url}{path}")
        found = msgspec.json.decode(body)
    except (OSError, ValueError) as error:
        raise OperatorUnreachable(f"{url}{path}: {error}") from error
    return found if isinstance(found, dict) else {}


def _get(address: str) -> bytes:
    parts = urlsplit(address)
    connection, headers = _connection(parts), {}
    try:
        connection.connect()
        if isinstance(connection.sock, ssl.SSLSocket):
            _verify(connection.sock)
            if TOKEN.exists():
                headers["Authorization"] = f"Bearer {TOKEN.read_text().strip()}"
        connection.request("GET", parts.path, headers=headers)
        answer = connection.getresponse()
        body = answer.read(LONGEST)
    except http.client.HTTPException as error:
        raise ValueError(f"no valid answer: {type(error).__name__}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise ValueError(f"status {answer.status}: {body[:200].decode(errors='replace').strip()}")
    return body


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme != "https":
        return http.client.HTTPConnection(host, parts.port, timeout=SECONDS)
    context = ssl.create_default_context(cafile=os.environ.get("OPERATOR_API_CA") or None)
    if _published() is not None:  # `_verify` compares it, before anything is sent
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, parts.port, timeout=SECONDS, context=context)


def _published() -> Path | None:
    """Returns the file with the certificate that the operator publishes, if the page knows one."""
    found = os.environ.get("OPERATOR_API_CERTIFICATE")
    return Path(found) if found else None


def _verify(connection: ssl.SSLSocket) -> None:
    file = _published()
    if file is None:
        return  # the context has verified it with a CA
    if not file.exists():
        raise ValueError("the operator has not published its certificate yet")
    if connection.getpeercert(binary_form=True) != ssl.PEM_cert_to_DER_cert(file.read_text()):
        raise ValueError("its certificate is not the one that the operator has published")
