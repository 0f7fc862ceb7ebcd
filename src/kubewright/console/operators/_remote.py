"""`Remote`: an operator elsewhere, by the pages that it serves under `/debug/kubewright`.

The pages are hostile input, as are the objects of a cluster: they must fit their types, and their size is bounded.
"""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import quote

import msgspec

from kubewright.cache import ObjectKey
from kubewright.client import Credentials
from kubewright.console.operators._view import ObjectInspection, OperatorUnavailable
from kubewright.observe import (
    DEBUG_PATH,
    Inspection,
    LogLine,
    OperatorAddress,
    OperatorClient,
    OperatorError,
    OperatorReport,
    OperatorTrust,
)

__all__ = ["AddressError", "Remote"]

T = TypeVar("T")


class AddressError(ValueError):
    """What was given is no address of an operator. The text says what one looks like."""


class _Lines(msgspec.Struct):
    lines: list[LogLine]


class Remote:
    """The operator that serves its pages at an address such as `127.0.0.1:8081` or `https://localhost:8080`.

    An `https://` address is that of secure metrics: the console sends `credentials`, a token of the cluster, after it
    has verified the certificate by `trust`. Raises `AddressError` for an invalid address.
    """

    def __init__(
        self, address: str, *, credentials: Credentials | None = None, trust: OperatorTrust | None = None
    ) -> None:
        try:
            parsed = OperatorAddress.parse(address)
        except ValueError as error:
            raise AddressError(str(error)) from None
        self._client = OperatorClient(parsed, credentials, trust)

    @property
    def address(self) -> str:
        """Host and port, with `https://` where it is secure."""
        return str(self._client.address)

    async def report(self) -> OperatorReport:
        """The operator as a whole."""
        found = await self._get("", OperatorReport)
        if found is None:
            raise OperatorUnavailable(
                f"{self.address} serves no {DEBUG_PATH}: start the operator with --health-bind on a loopback address, "
                "or with --debug-pages and secure metrics"
            )
        return found

    async def inspect(self, controller: str, key: ObjectKey) -> ObjectInspection | None:
        """What a controller knows about an object, without values."""
        found = await self._get(f"/objects/{_path(controller, key)}", Inspection)
        return None if found is None else ObjectInspection(found)

    async def logs(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """The last lines of the log about an object; none from an operator that does not serve them."""
        found = await self._get(f"/logs/{_path(controller, key)}", _Lines)
        return [] if found is None else found.lines

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _get(self, below: str, kind: type[T]) -> T | None:
        """A page, or None when there is none."""
        try:
            body = await self._client.get(below)
        except OperatorError as error:
            raise OperatorUnavailable(str(error)) from error
        try:
            return None if body is None else msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError as error:
            raise OperatorUnavailable(f"what {self.address} serves is not what an operator tells: {error}") from error


def _path(controller: str, key: ObjectKey) -> str:
    return "/".join(quote(part, safe="") for part in (controller, key.namespace, key.name) if part)
