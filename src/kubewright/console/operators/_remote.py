"""`Remote`: an operator elsewhere, by the pages that it serves under `/debug/kubewright`.

What comes from there is hostile input, as is what a cluster holds: it must fit its types, and not be without end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from kubewright._aiohttp import roots_on_first_use
from kubewright.cache import ObjectKey
from kubewright.console.operators._view import Known, OperatorAway
from kubewright.observe import Inspection, LogLine, OperatorReport

if TYPE_CHECKING:
    from aiohttp import ClientSession

__all__ = ["AddressError", "Remote"]

T = TypeVar("T")

_PAGES: Final = "/debug/kubewright"
_SECONDS: Final = 5.0
_LONGEST: Final = 8 * 1024 * 1024


class AddressError(ValueError):
    """What was given is no address of an operator. The text says what one looks like."""


class _Lines(msgspec.Struct):
    lines: list[LogLine]


class Remote:
    """The operator that serves its pages at an address such as `127.0.0.1:8081`: its `--health-bind`.

    Raises `AddressError` for what is no such address.
    """

    def __init__(self, address: str) -> None:
        self._host = _checked(address)
        self._session: ClientSession | None = None

    @property
    def address(self) -> str:
        """Host and port."""
        return self._host

    async def report(self) -> OperatorReport:
        """The operator as a whole."""
        found = await self._get("", OperatorReport)
        if found is None:
            raise OperatorAway(
                f"{self._host} serves no {_PAGES}: start the operator with --health-bind on a loopback address, "
                "or add --debug-pages"
            )
        return found

    async def known(self, controller: str, key: ObjectKey) -> Known | None:
        """What a controller knows about an object, without values."""
        found = await self._get(f"/objects/{_path(controller, key)}", Inspection)
        return None if found is None else Known(found)

    async def logs(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """The last lines of the log about an object; none from an operator that does not serve them."""
        found = await self._get(f"/logs/{_path(controller, key)}", _Lines)
        return [] if found is None else found.lines

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _get(self, below: str, kind: type[T]) -> T | None:
        """A page, or None when there is none."""
        with roots_on_first_use():
            import aiohttp
        from yarl import URL

        if self._session is None:
            # Without proxies: the operator is on this machine, behind a port of it, or in the cluster.
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=_SECONDS), cookie_jar=aiohttp.DummyCookieJar()
            )
        url = URL(f"http://{self._host}{_PAGES}{below}", encoded=True)
        try:
            async with self._session.get(url, allow_redirects=False) as answer:
                if answer.status == 404:
                    return None
                if answer.status != 200:
                    raise OperatorAway(f"{self._host} answers {answer.status} {answer.reason}: {_why(answer.status)}")
                body = await _read(answer.content, self._host)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            reason = "no answer in time" if isinstance(error, TimeoutError) else _short(error)
            raise OperatorAway(
                f"no operator answers at {self._host} ({reason}): start it with --health-bind {self._host}, "
                "or forward a port to it"
            ) from error
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError as error:
            raise OperatorAway(f"what {self._host} serves is not what an operator tells: {error}") from error


async def _read(content: object, host: str) -> bytes:
    from aiohttp import StreamReader

    assert isinstance(content, StreamReader)
    body = bytearray()
    async for chunk in content.iter_any():
        body += chunk
        if len(body) > _LONGEST:
            raise OperatorAway(f"{host} sends more than {_LONGEST} bytes: that is no operator")
    return bytes(body)


def _why(status: int) -> str:
    if status == 403:
        return "ask by an address of its machine, such as 127.0.0.1, or start it with --debug-pages"
    return "is it an operator of Kubewright?"


def _short(error: BaseException) -> str:
    text = getattr(getattr(error, "os_error", None), "strerror", None) or getattr(error, "strerror", None)
    return str(text or str(error) or type(error).__name__)


def _path(controller: str, key: ObjectKey) -> str:
    return "/".join(quote(part, safe="") for part in (controller, key.namespace, key.name) if part)


def _checked(address: str) -> str:
    text = address.strip().removeprefix("http://").rstrip("/")
    if text.isdigit():
        text = f"127.0.0.1:{text}"
    if not _is_address(text):
        raise AddressError(f"an operator is named by the address of its pages, such as 127.0.0.1:8081, not {address!r}")
    return text


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(f"//{text}")
        named = bool(parts.hostname) and bool(parts.port)
    except ValueError:
        return False
    return named and parts.netloc == text and "@" not in text and not any(char.isspace() for char in text)
