"""Reads the REST API of the operator, at `OPERATOR_API_URL`. The answers are bounded and may be anything."""

import asyncio
import os
import ssl
import urllib.request
from pathlib import Path
from typing import Any

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
    headers = {}
    if address.startswith("https://") and TOKEN.exists():
        headers["Authorization"] = f"Bearer {TOKEN.read_text().strip()}"
    request = urllib.request.Request(address, headers=headers)
    context = ssl.create_default_context(cafile=os.environ.get("OPERATOR_API_CA") or None)
    with urllib.request.urlopen(request, timeout=SECONDS, context=context) as answer:
        return bytes(answer.read(LONGEST))
