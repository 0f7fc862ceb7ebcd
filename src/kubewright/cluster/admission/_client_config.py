"""Validation of a `clientConfig`, for admission and conversion webhooks."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import subdomain_problems

__all__ = ["bundle_errors", "service_errors", "url_errors"]

_FORM: Final = "; desired format: https://host[/path]"
_LAST_PORT: Final = 65535


def url_errors(url: str, path: str) -> Iterator[FieldError]:
    """Validates the URL of a webhook."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        yield invalid(path, host, f"host must be specified{_FORM}")
    if at:
        yield invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(path, parts.query, "query parameters are not permitted in the URL")


def service_errors(service: JSONObject, path: str) -> Iterator[FieldError]:
    """Validates the reference to a Service."""
    # The real server swaps the two fields in its messages.
    if not service.get("namespace"):
        yield required(f"{path}.name")
    if not service.get("name"):
        yield required(f"{path}.namespace")
    port = service.get("port") or 0
    if not 1 <= port <= _LAST_PORT:
        yield invalid(f"{path}.port", port, f"port is not valid: must be between 1 and {_LAST_PORT}, inclusive")
    yield from _path_errors(service.get("path"), f"{path}.path")


def _path_errors(given: str | None, path: str) -> Iterator[FieldError]:
    if not given or given == "/":
        return
    if given == "//":
        yield invalid(path, given, "segment[0] may not be empty")
        return
    if not given.startswith("/"):
        yield invalid(path, given, "must start with a '/'")
    for index, step in enumerate(given[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid(path, given, f"segment[{index}] may not be empty")
        else:
            for problem in subdomain_problems(step):
                yield invalid(path, given, f"segment[{index}]: {problem}")


def bundle_errors(bundle: str | None, path: str) -> Iterator[FieldError]:
    """Validates the CA bundle of a webhook."""
    if not bundle:
        return
    import ssl

    try:
        ssl.create_default_context(cadata=base64.b64decode(bundle, validate=True).decode())
    except (binascii.Error, ssl.SSLError, ValueError):
        problem = "unable to load root certificates: unable to parse bytes as PEM block"
        yield invalid(path, bundle, problem)
