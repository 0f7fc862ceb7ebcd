"""The kinds whose CustomResourceDefinitions a run installs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubewright.api import Object, info_of
from kubewright.client import Client, NotFound
from kubewright.controller import Registration

if TYPE_CHECKING:
    from kubewright.api.apiextensions.v1 import CustomResourceConversion

__all__ = ["define_kinds", "defined_kinds"]


async def define_kinds(
    client: Client,
    registrations: Sequence[Registration[Any]],
    handled: Sequence[type[Object]],
    *,
    timeout: float,
    conversions: Mapping[str, CustomResourceConversion],
    include_missing: bool,
) -> None:
    """Installs the definitions of `defined_kinds` and of the kinds that webhooks handle.

    `conversions` has the conversion setting of each definition that this run converts. With `include_missing`, the
    other kinds in use are installed too if the cluster does not have them: a test needs them, and the operator that
    they belong to does not run there.
    """
    own = list(dict.fromkeys([*defined_kinds(registrations), *handled]))
    await _install(client, own, timeout, conversions)
    if include_missing:
        known = {_identity(kind) for kind in own}
        others = [kind for kind in _used_kinds(registrations) if _identity(kind) not in known]
        await _install(client, await _absent(client, others), timeout, {})


async def _install(
    client: Client, kinds: Sequence[type[Object]], timeout: float, conversions: Mapping[str, CustomResourceConversion]
) -> None:
    from kubewright.crd import install  # imports all of apiextensions/v1, which production does not need

    if kinds:
        await install(client, *kinds, timeout=timeout, conversions=conversions)


async def _absent(client: Client, kinds: Sequence[type[Object]]) -> list[type[Object]]:
    from kubewright.api.apiextensions.v1 import CustomResourceDefinition

    absent = []
    for kind in kinds:
        info = info_of(kind)
        try:
            await client.get(CustomResourceDefinition, f"{info.plural}.{info.group}")
        except NotFound:
            absent.append(kind)
    return absent


def defined_kinds(registrations: Sequence[Registration[Any]]) -> list[type[Object]]:
    """Returns the reconciled kinds that the program defines, and the kinds of the same groups that it uses.

    Kinds of other groups that are watched or read belong to another operator, which installs them.
    """
    found = {_identity(one.kind): one.kind for one in registrations if hasattr(one.kind, "__definition__")}
    groups = {group for group, _ in found}
    for kind in _used_kinds(registrations):
        if info_of(kind).group in groups:
            found.setdefault(_identity(kind), kind)
    return list(found.values())


def _used_kinds(registrations: Sequence[Registration[Any]]) -> list[type[Object]]:
    """Returns the kinds that the program defines and reconciles, owns, watches or reads, one version of each.

    A kind that is optional in every declaration is left out: the program has to work without it.
    """
    found: dict[tuple[str, str], type[Object]] = {}
    for use in (use for one in registrations for use in one.caches):
        if hasattr(use.kind, "__definition__") and not use.options.optional:
            found.setdefault(_identity(use.kind), use.kind)
    return list(found.values())


def _identity(kind: type[Object]) -> tuple[str, str]:
    info = info_of(kind)
    return info.group, info.kind
