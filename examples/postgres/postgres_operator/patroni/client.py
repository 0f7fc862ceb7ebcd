"""`Patroni`: a client of the REST API of one cluster's members."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

from kubewright.api import core
from postgres_operator.patroni.pod import REST_PORT

SECONDS: Final = 10.0
OPERATION_SECONDS: Final = 60.0
"""The limit of a restart or a switch-over, which Patroni answers when it is done."""
_MAX_BYTES: Final = 1 << 20
_MAX_MEMBERS: Final = 100
_MAX_MESSAGE: Final = 500
_AT_LEAST_AS_PRIMARY: Final = (
    "max_connections",
    "max_locks_per_transaction",
    "max_prepared_transactions",
    "max_wal_senders",
    "max_worker_processes",
)
"""Parameters whose value on a replica must not be smaller than on its primary."""


class PatroniError(Exception):
    """Patroni did not do what it was asked for."""


class PatroniUnreachable(PatroniError):
    """No member answers, or one does not answer in time. Retry later."""


class PatroniRefused(PatroniError):
    """Patroni refuses a request; the message is Patroni's."""


@dataclass(frozen=True)
class Member:
    """A member of a cluster, as Patroni sees it.

    Attributes:
        name: the pod's name.
        role: `leader`, `replica`, `sync_standby`, or another word of Patroni.
        state: `running`, `streaming`, `starting`, `stopped`, or another word of Patroni.
        timeline: the timeline of PostgreSQL; it grows with each failover.
        lag: the bytes that a replica has not received yet. None: unknown.
        pending_restart: whether parameters take effect only after a restart.
        url: of its REST API.
        restarts_first: whether the primary must be restarted before its replicas: PostgreSQL does not start a replica
            with fewer connections, workers or locks than its primary has, so a smaller value starts there.
    """

    name: str
    role: str
    state: str
    timeline: int | None
    lag: int | None
    pending_restart: bool
    url: str
    restarts_first: bool = False

    @property
    def is_leader(self) -> bool:
        """Whether it is the primary."""
        return self.role in ("leader", "master", "primary", "standby_leader")

    @property
    def is_running(self) -> bool:
        """Whether it is a primary that runs, or a replica that streams."""
        return self.state == ("running" if self.is_leader else "streaming")


class Patroni:
    """The REST API of a cluster's members, for `async with`.

    Args:
        urls: of the members' REST APIs. Reads use the first one that answers.
        seconds: the limit of a request. Default: 10.
    """

    def __init__(self, urls: Iterable[str], *, seconds: float = SECONDS) -> None:
        self._urls = [url.rstrip("/") for url in urls][:_MAX_MEMBERS]
        self._seconds = seconds
        self._session: aiohttp.ClientSession | None = None

    @classmethod
    def of(cls, pods: Iterable[core.Pod], *, seconds: float = SECONDS) -> Self:
        """Returns the client of a cluster's pods. Pods without an address are left out."""
        addresses = [pod.status.pod_ip for pod in pods if pod.status.pod_ip]
        return cls([f"http://{address}:{REST_PORT}" for address in addresses], seconds=seconds)

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()

    async def members(self) -> list[Member]:
        """Returns the members, sorted by name. Raises `PatroniUnreachable`."""
        answer = await self._read("/cluster")
        return sorted(map(_member, _dicts(answer.get("members"))), key=lambda member: member.name)

    async def configure(self, wanted: Mapping[str, Any]) -> bool:
        """Makes Patroni's dynamic configuration as `configuration()` returns it. Returns False if it was.

        Members reload it. Those that need a restart for a parameter show `pending_restart` soon after. Settings of
        others stay, except for PostgreSQL's parameters: those that are not wanted are removed.
        """
        change = _difference(await self._read("/config"), wanted)
        if not change:
            return False
        await self._anywhere("PATCH", "/config", change)
        return True

    async def restart(self, member: Member) -> None:
        """Restarts PostgreSQL of a member that needs it, and returns when it runs again.

        Only a primary that `restarts_first` is restarted; others are switched over. Does nothing for a member that does
        not need it any more, or whose role has changed. Raises `PatroniRefused`.
        """
        role = "primary" if member.is_leader and member.restarts_first else "replica"
        body = {"role": role, "restart_pending": True, "timeout": int(OPERATION_SECONDS)}
        try:
            await self._send(member.url, "POST", "/restart", body, OPERATION_SECONDS + self._seconds)
        except PatroniRefused as error:
            if "restart conditions are not satisfied" not in str(error):
                raise

    async def switchover(self, leader: str, candidate: str | None = None) -> None:
        """Makes a replica the primary, and returns when it is. Raises `PatroniRefused` with Patroni's reason.

        Patroni refuses if `leader` is not the primary, so a repeated request does not switch back.
        """
        body = {"leader": leader} | ({"candidate": candidate} if candidate else {})
        await self._anywhere("POST", "/switchover", body, OPERATION_SECONDS)

    # Requests

    async def _read(self, path: str) -> dict[str, Any]:
        answer = await self._anywhere("GET", path)
        return answer if isinstance(answer, dict) else {}

    async def _anywhere(self, method: str, path: str, body: object = None, seconds: float | None = None) -> Any:
        """Sends a request to the first member that accepts a connection."""
        failures = []
        for url in self._urls:
            try:
                return await self._send(url, method, path, body, seconds or self._seconds)
            except PatroniUnreachable as error:
                failures.append(str(error))
        raise PatroniUnreachable("; ".join(failures) or "the cluster has no pods with an address")

    async def _send(self, url: str, method: str, path: str, body: object, seconds: float) -> Any:
        assert self._session is not None
        try:
            async with asyncio.timeout(seconds):
                async with self._session.request(method, url + path, json=body, allow_redirects=False) as response:
                    content = await _content(response)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise PatroniUnreachable(f"{method} {url}{path}: {reason[:_MAX_MESSAGE]}") from None
        text = content.decode(errors="replace")
        if response.status >= 400:
            raise PatroniRefused(f"{method} {path}: {text.strip()[:_MAX_MESSAGE]} (status {response.status})")
        try:
            return json.loads(content)
        except ValueError:
            return text


async def _content(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_chunked(1 << 16):
        content += chunk
        if len(content) > _MAX_BYTES:
            raise aiohttp.ClientPayloadError(f"the response is larger than {_MAX_BYTES >> 20} MiB")
    return bytes(content)


def _member(value: Mapping[str, Any]) -> Member:
    lag, timeline = value.get("lag"), value.get("timeline")
    return Member(
        name=str(value.get("name", "")),
        role=str(value.get("role", "")),
        state=str(value.get("state", "")),
        timeline=timeline if isinstance(timeline, int) else None,
        lag=lag if isinstance(lag, int) else None,
        pending_restart=bool(value.get("pending_restart")),
        url=str(value.get("api_url", "")).removesuffix("/patroni"),
        restarts_first=any(_shrinks(*change) for change in _changes(value.get("pending_restart_reason"))),
    )


def _changes(reasons: object) -> list[tuple[str, object, object]]:
    """Returns the parameters that wait for a restart, with their old and new values."""
    found = reasons.items() if isinstance(reasons, dict) else ()
    return [(name, each.get("old_value"), each.get("new_value")) for name, each in found if isinstance(each, dict)]


def _shrinks(name: str, old: object, new: object) -> bool:
    before, after = str(old), str(new)
    return name in _AT_LEAST_AS_PRIMARY and before.isdigit() and after.isdigit() and int(after) < int(before)


def _dicts(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)][:_MAX_MEMBERS] if isinstance(value, list) else []


def _difference(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the merge patch from one configuration to the other; unknown parameters of PostgreSQL are removed."""
    change: dict[str, Any] = {
        name: value for name, value in wanted.items() if name != "postgresql" and current.get(name) != value
    }
    has, wants = current.get("postgresql") or {}, wanted.get("postgresql") or {}
    inner: dict[str, Any] = {
        name: value for name, value in wants.items() if name != "parameters" and has.get(name) != value
    }
    existing, parameters = has.get("parameters") or {}, wants.get("parameters") or {}
    changed = {name: value for name, value in parameters.items() if str(existing.get(name)) != str(value)}
    changed |= {name: None for name in existing if name not in parameters}
    if changed:
        inner["parameters"] = changed
    return change | ({"postgresql": inner} if inner else {})
