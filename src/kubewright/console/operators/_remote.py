"""`Remote`: an operator in another process, queried through `/debug/kubewright`.

Responses are untrusted input: their types are checked and their size is bounded.
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
    FailingObjects,
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
    """An invalid address of an operator. The message describes the expected format."""


class _Lines(msgspec.Struct):
    lines: list[LogLine]


class Remote:
    """The operator at an address such as `127.0.0.1:8081` or `https://localhost:8080`.

    An `https://` address is that of secure metrics: the console verifies the certificate with `trust`, then sends
    `credentials`, a token of the cluster. Raises `AddressError` for an invalid address.
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
        """Host and port, with `https://` if the connection is encrypted."""
        return str(self._client.address)

    async def report(self) -> OperatorReport:
        """Returns the report of the whole operator."""
        found = await self._get("", OperatorReport)
        if found is None:
            raise OperatorUnavailable(
                f"{self.address} does not serve {DEBUG_PATH}: start the operator with --health-bind on a loopback "
                "address, or with --debug-pages and secure metrics"
            )
        return found

    async def failing(self) -> FailingObjects:
        """Returns the objects whose last reconcile failed; none if the operator is older than this page."""
        return await self._get("/failing", FailingObjects) or FailingObjects()

    async def inspect(self, controller: str, key: ObjectKey) -> ObjectInspection | None:
        """Returns what a controller knows about an object, without values."""
        found = await self._get(f"/objects/{_path(controller, key)}", Inspection)
        return None if found is None else ObjectInspection(found)

    async def logs(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """Returns the last log lines about an object; none if the operator does not serve logs."""
        found = await self._get(f"/logs/{_path(controller, key)}", _Lines)
        return [] if found is None else found.lines

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def _get(self, below: str, kind: type[T]) -> T | None:
        """Returns the decoded response, or None for 404."""
        try:
            body = await self._client.get(below)
        except OperatorError as error:
            raise OperatorUnavailable(str(error)) from error
        try:
            return None if body is None else msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError as error:
            raise OperatorUnavailable(
                f"{self.address} returned an unexpected response for an operator: {error}"
            ) from error


def _path(controller: str, key: ObjectKey) -> str:
    return "/".join(quote(part, safe="") for part in (controller, key.namespace, key.name) if part)
