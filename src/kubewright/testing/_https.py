"""Blocking HTTPS requests with a client certificate, for readiness checks of local servers."""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

__all__ = ["Https"]


class Https:
    """Requests to one local server, each on its own connection. Thread-safe."""

    def __init__(self, port: int, *, ca: Path, certificate: Path, key: Path) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=str(ca))
        self._context.load_cert_chain(certificate, key)

    def request(self, method: str, path: str, body: object = None, *, timeout: float = 10) -> tuple[int, Any]:
        """Returns status and body, parsed if it is JSON. Raises OSError or http.client.HTTPException."""
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context, timeout=timeout)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            received = answer.read()
        finally:
            connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(received) if is_json and received else received.decode(errors="replace")
