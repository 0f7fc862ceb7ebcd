"""What somebody may do: access reviews, asked with his own credentials and remembered for some seconds."""

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

_SECONDS: Final = 10.0
_RULES_SECONDS: Final = 30.0
_AT_ONCE: Final = 8
_REMEMBERED: Final = 4_000
_NAMES: Final = 200


class All:
    """Every namespace. It holds any name, and is never empty."""

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "ALL"


ALL: Final = All()


@dataclass(frozen=True)
class Visibility:
    """Which objects of one kind somebody may see."""

    namespaces: frozenset[str] | All = frozenset()
    """Those whose objects may be listed; of a cluster-scoped kind, `ALL` or none."""
    names: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    """Objects, by namespace and name, that may be read although their neighbors may not."""

    @property
    def everything(self) -> bool:
        """Whether nothing is hidden."""
        return self.namespaces is ALL

    def allows(self, namespace: str, name: str) -> bool:
        """Whether this object may be seen."""
        return namespace in self.namespaces or (namespace, name) in self.names

    def __bool__(self) -> bool:
        return bool(self.namespaces) or bool(self.names)


class Access:
    """What one identity may do. Answers are remembered for 10 seconds, lists of rules for 30.

    Who asks the same at the same time waits for one answer; a handful of questions is under way at once.
    An answer that does not come raises what the client raises: not to know is not a no, and never a yes.
    """

    def __init__(
        self, client: Client, clock: Clock | None = None, *, on_rejected: Callable[[], None] | None = None
    ) -> None:
        """The access of whoever the client is. `on_rejected` is called when the server does not know him any more."""
        self._client = client
        self._on_rejected = on_rejected
        self._clock = clock or SystemClock()
        self._answers: dict[Hashable, tuple[float, asyncio.Future[Any]]] = {}
        self._asking: set[asyncio.Future[Any]] = set()
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def may(
        self, verb: str, kind: Kind, namespace: str | None = None, name: str | None = None, subresource: str = ""
    ) -> bool:
        """Whether the API server would let this pass. Without a namespace, in all of them."""
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
        return await self._once(("may", *attributes.values()), _SECONDS, lambda: self._review(attributes))

    async def visibility(self, kind: Kind, among: Collection[str]) -> Visibility:
        """Which objects of a kind may be seen, in these namespaces (those that have any, or that are asked for)."""
        if await self.may("list", kind):
            return Visibility(ALL)
        if not kind.namespaced:
            return Visibility(frozenset(), await self._named(kind, [""]))
        places = [one for one in among if one]  # no namespace is none, and the server refuses to tell its rules
        listed = await self._where(kind, places)
        return Visibility(listed, await self._named(kind, [one for one in places if one not in listed]))

    async def namespaces_of(self, kind: Kind, among: Collection[str]) -> frozenset[str] | All:
        """Where objects of a kind may be listed: everywhere, or in which of these namespaces."""
        if await self.may("list", kind):
            return ALL
        return await self._where(kind, among) if kind.namespaced else frozenset()

    async def _where(self, kind: Kind, among: Iterable[str]) -> frozenset[str]:
        names = [*among]
        answers = await asyncio.gather(*(self._lists_in(kind, name) for name in names))
        return frozenset(name for name, allowed in zip(names, answers, strict=True) if allowed)

    async def _lists_in(self, kind: Kind, namespace: str) -> bool:
        rules, complete = await self.rules(namespace)
        if any(_covers(rule, kind, "list") and not rule.get("resourceNames") for rule in rules):
            return True
        # Not every authorizer can list its rules; then the question itself is asked.
        return False if complete else await self.may("list", kind, namespace)

    async def _named(self, kind: Kind, namespaces: Iterable[str]) -> frozenset[tuple[str, str]]:
        """Objects that rules name one by one, each asked for again: a rule of a Role says nothing of the cluster."""
        wanted: list[tuple[str, str]] = []
        for namespace in namespaces:
            rules, _ = await self.rules(namespace or "default")
            for rule in rules:
                if _covers(rule, kind, "get"):
                    wanted += [(namespace, name) for name in rule.get("resourceNames") or ()]
        wanted = [*dict.fromkeys(wanted)][:_NAMES]
        answers = await asyncio.gather(*(self.may("get", kind, namespace, name) for namespace, name in wanted))
        return frozenset(one for one, allowed in zip(wanted, answers, strict=True) if allowed)

    async def rules(self, namespace: str) -> tuple[list[dict[str, Any]], bool]:
        """The rules that apply in a namespace, and whether these are all of them."""
        return await self._once(("rules", namespace), _RULES_SECONDS, lambda: self._rules(namespace))

    def forget(self) -> None:
        """Ask everything anew."""
        self._answers.clear()

    async def close(self) -> None:
        """Give up what is still being asked: before the client is closed, since a late question would open it again."""
        while asking := [*self._asking]:
            for asked in asking:
                asked.cancel()
            await asyncio.wait(asking)

    # Asking

    async def _review(self, attributes: dict[str, str]) -> bool:
        said = from_dict(authorization.ResourceAttributes, {name: value for name, value in attributes.items() if value})
        spec = authorization.SelfSubjectAccessReviewSpec(resource_attributes=said)
        answer = await self._client.create(authorization.SelfSubjectAccessReview(spec=spec))
        return bool(answer.status and answer.status.allowed)

    async def _rules(self, namespace: str) -> tuple[list[dict[str, Any]], bool]:
        spec = authorization.SelfSubjectRulesReviewSpec(namespace=namespace)
        answer = await self._client.create(authorization.SelfSubjectRulesReview(spec=spec))
        status = to_dict(answer).get("status") or {}
        return status.get("resourceRules") or [], not status.get("incomplete")

    async def _once(self, key: Hashable, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        now = self._clock.monotonic()
        known = self._answers.get(key)
        if known is None or known[0] <= now:
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            # A task of its own: whoever asked first may leave while others still wait.
            asked = asyncio.ensure_future(self._ask(key, ask))
            self._asking.add(asked)
            asked.add_done_callback(self._asking.discard)
            asked.add_done_callback(_seen)
            known = self._answers[key] = (now + seconds, asked)
        return await asyncio.shield(known[1])

    async def _ask(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            async with self._free:
                return await ask()
        except BaseException as error:
            self._answers.pop(key, None)  # only answers are remembered
            if isinstance(error, Unauthorized) and self._on_rejected is not None:
                self._on_rejected()
            raise


def _seen(asked: asyncio.Future[Any]) -> None:
    """Its error was seen, also when nobody waits for the answer any more."""
    if not asked.cancelled():
        asked.exception()


def _covers(rule: dict[str, Any], kind: Kind, verb: str) -> bool:
    def names(field: str, wanted: str) -> bool:
        return any(one in ("*", wanted) for one in rule.get(field) or ())

    return names("verbs", verb) and names("apiGroups", kind.group) and names("resources", kind.plural)
