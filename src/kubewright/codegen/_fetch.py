"""Fetches a file over HTTPS."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import urlsplit

from kubewright.codegen._errors import CodegenError, WrongRequest

__all__ = ["MOST_BYTES", "fetch"]

MOST_BYTES: Final = 64 << 20
_TIMEOUT: Final = 30.0


def fetch(url: str, *, allow_http: bool = False, most_bytes: int = MOST_BYTES) -> str:
    """Returns the text at a URL. Redirects too must be `https://`, unless `allow_http` is set. Raises CodegenError."""
    shown = _without_credentials(url)
    _check(url, shown, allow_http=allow_http)

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            _check(newurl, shown, allow_http=allow_http)
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    opener = urllib.request.build_opener(Redirects)
    request = urllib.request.Request(url, headers={"User-Agent": "kubewright"})  # noqa: S310  # checked above
    try:
        with opener.open(request, timeout=_TIMEOUT) as answer:
            content: bytes = answer.read(most_bytes + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise CodegenError(shown, f"the server responds {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise CodegenError(shown, f"it cannot be fetched: {error.reason}") from None
    except (OSError, ValueError) as error:
        raise CodegenError(shown, f"it cannot be fetched: {error}") from None
    if len(content) > most_bytes:
        raise CodegenError(shown, f"it is larger than {most_bytes} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise CodegenError(shown, "it is not UTF-8, so it is not YAML") from None


def _check(url: str, shown: str, *, allow_http: bool) -> None:
    scheme = urlsplit(url).scheme
    if "@" in urlsplit(url).netloc:
        raise WrongRequest(shown, "a URL with a user name or password is not fetched; download the file first")
    if scheme == "http" and not allow_http:
        raise WrongRequest(
            shown, "only https:// is fetched, because http:// can be tampered with; --allow-http permits it"
        )
    if scheme not in ("http", "https"):
        raise WrongRequest(shown, f"only https:// is fetched, not {scheme}://")


def _without_credentials(url: str) -> str:
    """Returns the URL without credentials and without the query, which may contain a token."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
