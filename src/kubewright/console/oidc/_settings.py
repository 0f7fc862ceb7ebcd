"""`OIDC`: the settings of sign-in with OpenID Connect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

__all__ = ["OIDC", "is_https"]

_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_SECRET_BYTES: Final = 4_096


@dataclass(frozen=True, kw_only=True)
class OIDC:
    """An OpenID Connect provider, and the console as its client. Raises `ValueError` for an invalid setting.

    The API server must trust the same issuer and client ID, because the console passes on the user's ID token.
    """

    issuer: str
    """The issuer URL, exactly as in the provider's tokens and in the configuration of the API server. Always https."""
    client_id: str
    """The ID under which the provider knows the console. The audience of its tokens."""
    client_secret_file: str | None = None
    """A file with the client secret. It is read for each use, so it can be rotated. Default: a public client."""
    ca_file: str | None = None
    """The CA of the provider, as a PEM file. Default: the CAs of this machine."""
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    """The scopes to request. `openid` is always added. Many providers renew tokens only with `offline_access`."""
    name: str = ""
    """The name of the provider on the sign-in page. Default: its host."""

    def __post_init__(self) -> None:
        if not _is_issuer(self.issuer):
            raise ValueError(f"the OIDC issuer must be a URL such as https://login.example.com, not {self.issuer!r}")
        if not self.client_id or not self.client_id.isascii() or not self.client_id.isprintable():
            raise ValueError("the OIDC client ID must be a string of printable ASCII characters")
        for scope in self.scopes:
            if not _SCOPE.fullmatch(scope):
                raise ValueError(f"an OIDC scope is one word such as groups, not {scope!r}")

    @property
    def shown(self) -> str:
        """The name of the provider for users."""
        return self.name or urlsplit(self.issuer).netloc

    @property
    def scope(self) -> str:
        """The scopes, as the provider expects them."""
        return " ".join(dict.fromkeys(["openid", *self.scopes]))

    def secret(self) -> str | None:
        """Returns the client secret, or None for a public client. Raises `OSError` or `ValueError` without it."""
        if self.client_secret_file is None:
            return None
        with open(self.client_secret_file, encoding="ascii") as file:
            found = file.read(_SECRET_BYTES).strip()
        if not found:
            raise ValueError("the file is empty")
        return found


def is_https(url: str) -> bool:
    """Whether this is an https address with a host, without a user."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises for an invalid port
    except ValueError:
        return False
    plain = url.isascii() and url.isprintable() and " " not in url
    return plain and parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc


def _is_issuer(url: str) -> bool:
    return is_https(url) and not urlsplit(url).query and not urlsplit(url).fragment
