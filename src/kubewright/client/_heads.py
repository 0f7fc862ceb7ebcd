"""Heads of HTTP messages: that of a request, the headers of a response, and the address of a server."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Self
from urllib.parse import quote, unquote, urlsplit

from kubewright.http import Headers, check_headers

__all__ = ["Headers", "ServerAddress", "head_of", "query_text"]

_PORTS = {"http": 80, "https": 443}
_QUERY_SAFE = "-._~:,/()!*"


class ServerAddress(NamedTuple):
    """The address in a URL."""

    secure: bool
    host: str
    port: int
    path: str = ""
    """The prefix of all paths on this server, without a trailing slash."""
    user: str = ""
    """User and password for basic authentication; only proxies have one."""

    def __repr__(self) -> str:
        return f"<ServerAddress {self.url}{self.path}>"  # without the password

    @classmethod
    def of(cls, url: str) -> Self:
        """Returns the address in a URL. Raises ValueError for an invalid one."""
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("not the URL of a server")
        host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if "@" in parts.netloc else ""
        return cls(parts.scheme == "https", host, parts.port or _PORTS[parts.scheme], parts.path.rstrip("/"), user)

    @property
    def authority(self) -> str:
        """Host and port for CONNECT."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def name(self) -> str:
        """Host and port for the Host header, without the default port."""
        usual = ":443" if self.secure else ":80"
        return self.authority.removesuffix(usual)

    @property
    def url(self) -> str:
        """The URL without its path."""
        return f"{'https' if self.secure else 'http'}://{self.name}"

    @property
    def credentials(self) -> tuple[tuple[str, str], ...]:
        """The Proxy-Authorization header."""
        if not self.user:
            return ()
        return (("Proxy-Authorization", f"Basic {base64.b64encode(self.user.encode()).decode()}"),)


def head_of(method: str, target: str, headers: Sequence[tuple[str, str]]) -> bytes:
    """Returns the head of a request. Raises ValueError for a string that contains a line break."""
    if not method.isalpha() or not target.isprintable() or " " in target:
        raise ValueError(f"{method} {target!r} is not a valid HTTP request")
    check_headers(headers)
    lines = [f"{name}: {value}\r\n" for name, value in headers]
    return f"{method} {target} HTTP/1.1\r\n{''.join(lines)}\r\n".encode()


@lru_cache(maxsize=256)  # an operator has few different queries, and encoding them was a tenth of the cost of a request
def query_text(query: tuple[tuple[str, str], ...]) -> str:
    """Returns the query of a URL with its question mark; empty if there is none."""
    text = "&".join(f"{quote(name, safe=_QUERY_SAFE)}={quote(value, safe=_QUERY_SAFE)}" for name, value in query)
    return f"?{text}" if text else ""
