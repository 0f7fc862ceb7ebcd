"""`SimulatedWebhooks`: calls the admission webhooks of an operator without a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from kubewright.api import info_of
from kubewright.clock import Clock
from kubewright.webhook._admission import Admission
from kubewright.webhook._registration import Webhooks
from kubewright.webhook._threads import ThreadQuota
from kubewright.webhook.reviews._reviews import AdmissionReviewRequest, GroupVersionKind, GroupVersionResource, User

__all__ = ["SimulatedWebhooks"]

T = TypeVar("T")
_TIMEOUT_SECONDS: Final = 10.0


class _Here(ThreadQuota):
    """Calls plain handlers in this thread."""

    def __init__(self) -> None:
        pass

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls a function."""
        return function(*arguments)


class SimulatedWebhooks:
    """The admission webhooks of an operator for simulations: in this process, with plain handlers in this thread.

    Every handler of a kind is called, the mutating ones first. Selectors, match conditions and conversions are ignored.
    """

    def __init__(self, webhooks: Webhooks, clock: Clock) -> None:
        here = _Here()
        ordered = sorted(webhooks.handlers, key=lambda each: not each.declaration.mutating)
        self._admissions = [
            (info_of(each.kind), Admission(each.declaration, each.kind, each.factory.make(), threads=here, clock=clock))
            for each in ordered
            if hasattr(each.kind, "__resource__")
        ]

    def handles(self, api_version: str, kind: str) -> bool:
        """Returns whether a kind has webhooks."""
        return any((info.api_version, info.kind) == (api_version, kind) for info, _ in self._admissions)

    async def review(
        self,
        operation: str,
        obj: dict[str, Any] | None,
        old: dict[str, Any] | None,
        patched: Callable[[Any, bytes], Any],
    ) -> tuple[dict[str, Any] | None, str]:
        """Returns the object as the webhooks change it, and why they refuse it; an empty string if they allow it.

        Args:
            operation: "CREATE", "UPDATE" or "DELETE".
            obj: the object; None for a deletion.
            old: the object before; None for a creation.
            patched: applies a JSON Patch.
        """
        about = obj or old or {}
        metadata = about.get("metadata", {})
        for info, admission in self._admissions:
            if (info.api_version, info.kind) != (about.get("apiVersion"), about.get("kind")):
                continue
            rules = admission.declaration.rules
            if not any({operation, "*"} & {str(each) for each in rule.operations or ()} for rule in rules):
                continue
            request = AdmissionReviewRequest(
                uid="simulated",
                kind=GroupVersionKind(info.group, info.version, info.kind),
                resource=GroupVersionResource(info.group, info.version, info.plural),
                operation=operation,
                name=metadata.get("name", ""),
                namespace=metadata.get("namespace", ""),
                user_info=User(username="user"),
                object=msgspec.Raw(msgspec.json.encode(obj)),
                old_object=msgspec.Raw(msgspec.json.encode(old)),
            )
            response, _ = await admission.respond(request, _TIMEOUT_SECONDS)
            if not response.allowed:
                return obj, str((response.status or {}).get("message", "refused"))
            if response.patch is not None:
                obj = patched(obj, response.patch)
        return obj, ""
