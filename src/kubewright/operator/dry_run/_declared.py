"""Checks that an operator declares its external calls, which a dry run cannot make harmless."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from kubewright.controller import Dependencies, Replacement, start_dependencies
from kubewright.operator.definition import OperatorDefinition

__all__ = ["DryRunRefused", "check_declared", "start_harmless_dependencies"]


class DryRunRefused(ValueError):
    """The operator does not declare its external calls. The message says what to declare."""


def check_declared(operator: OperatorDefinition, replaced: Sequence[Replacement] = ()) -> None:
    """Raises `DryRunRefused` if a dry run could call other systems for real."""
    if operator.external_calls is None:
        raise DryRunRefused(
            f"operator {operator.name} does not declare its external calls, so a dry run could change other systems."
            f' Declare Operator({operator.name!r}, external_calls="none") if it calls nothing but the cluster, through'
            ' ctx; or external_calls="provided" if all other calls use @operator.provides(dry_run=...)'
        )
    known = {each.dependency for each in replaced}
    for dependency in operator.dependencies:
        if dependency.dry_run is None and dependency not in known:
            raise DryRunRefused(
                f"the dependency {dependency.name} of operator {operator.name} does not declare what a dry run uses:"
                f' @operator.provides(dry_run="same") if it only reads, or dry_run=fake_{dependency.name} with a'
                " function that yields a replacement"
            )
    if operator.external_calls == "none" and operator.dependencies:
        names = ", ".join(dependency.name for dependency in operator.dependencies)
        raise DryRunRefused(
            f'operator {operator.name} declares external_calls="none", but provides {names}: declare "provided"'
        )


async def start_harmless_dependencies(
    operator: OperatorDefinition, replaced: Sequence[Replacement], stack: AsyncExitStack
) -> Dependencies:
    """Starts the dependencies that a dry run uses."""
    known = {each.dependency for each in replaced}
    replacements = list(replaced)
    for dependency in operator.dependencies:
        if dependency not in known and callable(dependency.dry_run):
            value = await stack.enter_async_context(asynccontextmanager(dependency.dry_run)())
            replacements.append(dependency.replaced_by(value))
    return await start_dependencies(operator.dependencies, replacements, stack)
