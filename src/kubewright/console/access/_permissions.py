"""Access reviews, sent with a viewer's own credentials and cached for some seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from kubewright.api import authorization, from_dict, to_dict
from kubewright.client import Client, Unauthorized
from kubewright.clock import Clock, SystemClock
from kubewright.console.kinds import Kind

__all__ = ["ALL", "READING", "Access", "All", "Visibility"]

T = TypeVar("T")

READING: Final = frozenset(["get", "list", "watch"])

_CACHE_SECONDS: Final = 10.0
_RULES_SECONDS: Final = 30.0
_CONCURRENT_REVIEWS: Final = 8
_MAX_ANSWERS: Final = 4_000
_MAX_NAMES: Final = 200


class All:
    """Every namespace. Contains any name and is never empty."""

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "ALL"


ALL: Final = All()


@dataclass(frozen=True)
class Visibility:
    """The objects of one kind that a viewer may see."""

    namespaces: frozenset[str] | All = frozenset()
    """Namespaces whose objects may be listed. For a cluster-scoped kind, `ALL` or none."""
    names: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    """Objects, by namespace and name, that may be read although their namespace may not be listed."""

    @property
    def everything(self) -> bool:
        """Whether every object is visible."""
        return self.namespaces is ALL

    def allows(self, namespace: str, name: str) -> bool:
        """Whether this object is visible."""
        return namespace in self.namespaces or (namespace, name) in self.names

    def __bool__(self) -> bool:
        return bool(self.namespaces) or bool(self.names)


class Access:
    """The permissions of one identity. Answers are cached for 10 seconds, lists of rules for 30.

    Concurrent callers with the same question share one request, and at most 8 requests run at a time. A failed request
    raises the client's exception: it counts neither as allowed nor as denied.
    """

    def __init__(
        self, client: Client, clock: Clock | None = None, *, on_rejected: Callable[[], None] | None = None
    ) -> None:
        """Takes the identity's client. Calls `on_rejected` when the API server no longer accepts its credentials."""
        self._client = client
        self._on_rejected = on_rejected
        self._clock = clock or SystemClock()
        self._answers: dict[Hashable, tuple[float, asyncio.Future[Any]]] = {}
        self._pending: set[asyncio.Future[Any]] = set()
        self._concurrency = asyncio.Semaphore(_CONCURRENT_REVIEWS)

    async def may(
        self, verb: str, kind: Kind, namespace: str | None = None, name: str | None = None, subresource: str = ""
    ) -> bool:
        """Whether the API server would allow the request. Without a namespace: in all namespaces."""
        where = (namespace or "") if kind.namespaced else ""
        attributes = {
            "verb": verb,
            "group": kind.group,
            "version": kind.version,
            "resource": kind.plural,
            "subresource": subresource,
            "namespace": where,
            "name": name or "",
        }
        return await self._cached(("may", *attributes.values()), _CACHE_SECONDS, lambda: self._review(attributes))

    async def visibility(self, kind: Kind, among: Collection[str], verb: str = "list") -> Visibility:
        """Returns which objects of a kind are visible in these namespaces: those that the viewer may list, or access
        with another verb.
        """
        if await self.may(verb, kind):
            return Visibility(ALL)
        if not kind.namespaced:
            return Visibility(frozenset(), await self._granted_by_name(kind, [""]))
        places = [one for one in among if one]  # the server rejects a rules review without a namespace
        listed = await self._namespaces_with(verb, kind, places)
        return Visibility(listed, await self._granted_by_name(kind, [one for one in places if one not in listed]))

    async def namespaces_of(self, kind: Kind, among: Collection[str]) -> frozenset[str] | All:
        """Returns the namespaces in which objects of a kind may be listed: `ALL`, or a subset of these."""
        if await self.may("list", kind):
            return ALL
        return await self._namespaces_with("list", kind, among) if kind.namespaced else frozenset()

    async def _namespaces_with(self, verb: str, kind: Kind, among: Iterable[str]) -> frozenset[str]:
        names = [*among]
        answers = await asyncio.gather(*(self._may_in(verb, kind, name) for name in names))
        return frozenset(name for name, allowed in zip(names, answers, strict=True) if allowed)

    async def _may_in(self, verb: str, kind: Kind, namespace: str) -> bool:
        rules, complete = await self.rules(namespace)
        if any(_covers(rule, kind, verb) and not rule.get("resourceNames") for rule in rules):
            return True
        # Some authorizers cannot list their rules, so this asks for the single permission.
        return False if complete else await self.may(verb, kind, namespace)

    async def _granted_by_name(self, kind: Kind, namespaces: Iterable[str]) -> frozenset[tuple[str, str]]:
        """Returns the objects that rules grant by name. Verifies each one, because a rule does not show whether it
        comes from a Role or a ClusterRole.
        """
        wanted: list[tuple[str, str]] = []
        for namespace in namespaces:
            rules, _ = await self.rules(namespace or "default")
            for rule in rules:
                if _covers(rule, kind, "get"):
                    wanted += [(namespace, name) for name in rule.get("resourceNames") or ()]
        wanted = [*dict.fromkeys(wanted)][:_MAX_NAMES]
        answers = await asyncio.gather(*(self.may("get", kind, namespace, name) for namespace, name in wanted))
        return frozenset(one for one, allowed in zip(wanted, answers, strict=True) if allowed)

    async def rules(self, namespace: str) -> tuple[list[dict[str, Any]], bool]:
        """Returns the rules that apply in a namespace, and whether the list is complete."""
        return await self._cached(("rules", namespace), _RULES_SECONDS, lambda: self._rules(namespace))

    def clear(self) -> None:
        """Drops all cached answers."""
        self._answers.clear()

    async def close(self) -> None:
        """Cancels pending requests. Call it before closing the client, because a late request would reopen it."""
        while pending := [*self._pending]:
            for request in pending:
                request.cancel()
            await asyncio.wait(pending)

    # Requests

    async def _review(self, attributes: dict[str, str]) -> bool:
        resource = from_dict(
            authorization.ResourceAttributes, {name: value for name, value in attributes.items() if value}
        )
        spec = authorization.SelfSubjectAccessReviewSpec(resource_attributes=resource)
        answer = await self._client.create(authorization.SelfSubjectAccessReview(spec=spec))
        return bool(answer.status and answer.status.allowed)

    async def _rules(self, namespace: str) -> tuple[list[dict[str, Any]], bool]:
        spec = authorization.SelfSubjectRulesReviewSpec(namespace=namespace)
        answer = await self._client.create(authorization.SelfSubjectRulesReview(spec=spec))
        status = to_dict(answer).get("status") or {}
        return status.get("resourceRules") or [], not status.get("incomplete")

    async def _cached(self, key: Hashable, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        now = self._clock.monotonic()
        known = self._answers.get(key)
        if known is None or known[0] <= now:
            if len(self._answers) >= _MAX_ANSWERS:
                self._answers.clear()
            # A separate task, because the first caller may be canceled while others still wait.
            request = asyncio.ensure_future(self._request(key, ask))
            self._pending.add(request)
            request.add_done_callback(self._pending.discard)
            request.add_done_callback(_retrieve_error)
            known = self._answers[key] = (now + seconds, request)
        return await asyncio.shield(known[1])

    async def _request(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            async with self._concurrency:
                return await ask()
        except BaseException as error:
            self._answers.pop(key, None)  # errors are not cached
            if isinstance(error, Unauthorized) and self._on_rejected is not None:
                self._on_rejected()
            raise


def _retrieve_error(request: asyncio.Future[Any]) -> None:
    """Retrieves the exception, so that asyncio does not log it when all callers have left."""
    if not request.cancelled():
        request.exception()


def _covers(rule: dict[str, Any], kind: Kind, verb: str) -> bool:
    def names(field: str, wanted: str) -> bool:
        return any(one in ("*", wanted) for one in rule.get(field) or ())

    return names("verbs", verb) and names("apiGroups", kind.group) and names("resources", kind.plural)
