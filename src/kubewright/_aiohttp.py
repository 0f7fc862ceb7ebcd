"""aiohttp, imported without the certificates of the system, which are read when somebody needs them.

aiohttp makes two contexts with all of them when it is imported, one that verifies and one that does not: a third of the
time in which an operator starts and 2 MB, for nothing, since an API server has a CA of its own. Who opens `https://`
elsewhere with aiohttp finds them as ever.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["roots_on_first_use"]


@contextmanager
def roots_on_first_use() -> Iterator[None]:
    """Around an import: a context that is to get the system's certificates now gets them when it is first used."""
    ssl.SSLContext.set_default_verify_paths = _later  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        del ssl.SSLContext.set_default_verify_paths  # it is inherited again


class _RootsOnFirstUse(ssl.SSLContext):
    """A context that reads the system's certificates when it is used, and is an ordinary one from then on."""

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        return self._loaded().wrap_bio(*arguments, **options)

    def wrap_socket(self, *arguments: Any, **options: Any) -> ssl.SSLSocket:
        return self._loaded().wrap_socket(*arguments, **options)

    def get_ca_certs(self, *arguments: Any, **options: Any) -> Any:
        return self._loaded().get_ca_certs(*arguments, **options)

    def cert_store_stats(self) -> dict[str, int]:
        return self._loaded().cert_store_stats()

    def _loaded(self) -> ssl.SSLContext:
        self.__class__ = ssl.SSLContext  # type: ignore[assignment]  # which it was before `_later`
        self.set_default_verify_paths()
        return self


def _later(context: ssl.SSLContext) -> None:
    if type(context) is ssl.SSLContext:
        context.__class__ = _RootsOnFirstUse
    else:
        super(ssl.SSLContext, context).set_default_verify_paths()
