"""Describes the objects that an operator's caches will hold on a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kubewright.api import info_of
from kubewright.client import ApiError, Client, Forbidden, NotFound
from kubewright.controller.registration import CacheUse, resolve_caches
from kubewright.deployment._finding import Finding
from kubewright.operator import Operator

__all__ = ["cache_findings", "describe_cache"]

_PAGE_SIZE: Final = 500
"""The most objects to count for a cache with a selector. The server reports a total only without selectors."""
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


async def cache_findings(client: Client, operator: Operator) -> AsyncIterator[Finding]:
    """Yields a finding for each cache: its scope and selectors, the stored parts of objects, and their number."""
    uses = resolve_caches([use for one in operator.registrations() for use in one.caches])
    for use in {(use.kind, use.options): use for use in uses}.values():
        what = f"{operator.name} caches {describe_cache(use, operator)}"
        try:
            counted = await _count(client, operator, use)
        except NotFound:
            if use.options.optional:
                yield Finding("ok", f"{info_of(use.kind)} is not installed; it is optional for {operator.name}")
            continue  # another check reports the missing kind
        except Forbidden:
            counted = "this account is not allowed to count them"
        except ApiError as error:
            counted = f"they cannot be counted: {error}"
        if use.options.complete and info_of(use.kind).kind == "Secret" and not operator.namespaces:
            advice = f"cache less: {use.place}, with labels=, namespaces= or metadata_only=True"
            yield Finding("warning", f"{what}; {counted}", advice)
        else:
            yield Finding("ok", f"{what}; {counted}")


def describe_cache(use: CacheUse, operator: Operator) -> str:
    """Returns one line about a cache: the kind, the selectors, the scope, and the stored parts of an object."""
    options, info = use.options, info_of(use.kind)
    text = str(info)
    if options.labels:
        text += f" with labels {options.labels}"
    if options.fields:
        text += f" with fields {options.fields}"
    if info.namespaced:
        text += f" in {_scope(use, operator)}"
    if options.metadata_only:
        return f"{text}: metadata only"
    if options.owned_by:
        owners = " or ".join(info_of(owner).kind for owner in options.owned_by)
        return f"{text}: whole if owned by a {owners}, otherwise metadata only"
    return f"{text}: transformed objects" if options.transform is not None else f"{text}: whole objects"


def _scope(use: CacheUse, operator: Operator) -> str:
    names = operator.namespaces if use.options.namespaces is None else use.options.namespaces
    if names:
        return f"namespace {', '.join(names)}" if len(names) == 1 else f"namespaces {', '.join(names)}"
    if labels := operator.settings.namespace_labels:
        return f"namespaces with labels {labels}"
    return "all namespaces"


async def _count(client: Client, operator: Operator, use: CacheUse) -> str:
    """Returns the current number of objects, as a string.

    If the operator selects namespaces by label, it counts all namespaces and returns an upper bound.
    """
    options, total, more = use.options, 0, False
    names = operator.namespaces if options.namespaces is None else options.namespaces
    for namespace in (names if info_of(use.kind).namespaced else ()) or (None,):
        page = await client.list_page(
            use.kind,
            namespace,
            size=_PAGE_SIZE if options.selects else 1,
            labels=options.labels or None,
            fields=options.fields or None,
            accept=_METADATA,
        )
        total += len(page.items or ()) + (page.metadata.remaining_item_count or 0)
        more = more or (bool(page.metadata.continue_) and page.metadata.remaining_item_count is None)
    at_most = " at most" if operator.settings.namespace_labels and options.namespaces is None else ""
    return f"now {'more than ' if more else ''}{total}{at_most}"
