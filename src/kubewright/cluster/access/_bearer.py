"""Bearer tokens of a request: in the Authorization header, or in a subprotocol of a WebSocket.

Browsers cannot set headers of a WebSocket, so they send `base64url.bearer.authorization.k8s.io.<token>` among the
subprotocols.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from kubewright.client import Request
from kubewright.cluster.access._tokens import InvalidToken
from kubewright.cluster.machinery._calls import header_of

__all__ = ["header_token", "subprotocol_token", "subprotocols"]

_PREFIX: Final = "base64url.bearer.authorization.k8s.io."
_PROTOCOLS: Final = "Sec-WebSocket-Protocol"
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*")


def header_token(request: Request) -> str:
    """Returns the token of the Authorization header; empty without one."""
    scheme, _, token = header_of(request, "Authorization").strip().partition(" ")
    return token.partition(" ")[0] if scheme.lower() == "bearer" else ""


def subprotocol_token(request: Request) -> str:
    """Returns the token of a subprotocol; empty without one, and for a request that is not a WebSocket.

    Raises `InvalidToken` for several tokens, an invalid encoding, and for a token without another subprotocol, because
    the server could choose none.
    """
    if not _is_websocket(request):
        return ""
    protocols = _protocols(request)
    encoded = [each.removeprefix(_PREFIX) for each in protocols if each.startswith(_PREFIX)]
    if not encoded:
        return ""
    if len(encoded) > 1:
        raise InvalidToken("multiple base64.bearer.authorization tokens specified")
    token = _decoded(encoded[0])
    if token and len(protocols) == 1:
        raise InvalidToken("missing additional subprotocol")
    return token


def subprotocols(request: Request) -> str:
    """Returns the subprotocols of a WebSocket without tokens, which no other server may see."""
    return ", ".join(each for each in _protocols(request) if not each.startswith(_PREFIX))


def _is_websocket(request: Request) -> bool:
    """Returns whether a request asks for a WebSocket."""
    upgrades = "upgrade" in header_of(request, "Connection").lower()
    return upgrades and header_of(request, "Upgrade").lower() == "websocket"


def _protocols(request: Request) -> list[str]:
    values = (value for name, value in request.headers.items() if name.lower() == _PROTOCOLS.lower())
    return [each.strip() for value in values for each in value.split(",")]


def _decoded(encoded: str) -> str:
    if not _BASE64URL.fullmatch(encoded):
        raise InvalidToken("invalid base64.bearer.authorization token encoding")
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except binascii.Error:
        raise InvalidToken("invalid base64.bearer.authorization token encoding") from None
    except UnicodeDecodeError:
        raise InvalidToken("invalid base64.bearer.authorization token") from None
