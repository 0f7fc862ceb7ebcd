"""Exceptions that show a mistake in the program."""

from __future__ import annotations

from typing import Final

from kubewright.durations import format_duration
from kubewright.explore.model import Finding, Outcome

__all__ = ["broken_invariants", "exceptions", "undeclared"]

_MISTAKES: Final = frozenset(
    {
        "AssertionError",
        "AttributeError",
        "IndexError",
        "KeyError",
        "NameError",
        "RecursionError",
        "TypeError",
        "UnboundLocalError",
        "ZeroDivisionError",
        "NotCached",
    }
)
"""Exceptions that no operator raises on purpose. API errors, timeouts and ValueError may be part of a retry."""


def exceptions(outcome: Outcome, *, plain: bool = False) -> list[Finding]:
    """No reconcile raises an exception that is a mistake in the program, and none sends an undeclared request.

    Args:
        outcome: the run.
        plain: whether no program has a reason to reject a value of the run. The operator must then parse all of them.
    """
    for failure in outcome.failures:
        if failure.type == "NotDeclared":
            return [
                Finding("rbac", f"the operator sends a request that its roles exclude: {failure.message}", subject="")
            ]
        if failure.type in _MISTAKES:
            lines = tuple(failure.traceback.rstrip().splitlines()[-6:])
            return [
                Finding(
                    "exception", f"a reconcile raised {failure.type}: {failure.message}", lines, subject=failure.type
                )
            ]
        if plain and failure.parsing:
            lines = tuple(failure.traceback.rstrip().splitlines()[-6:])
            return [
                Finding("decode", f"the operator cannot parse a valid value: {failure.message}", lines, subject="parse")
            ]
        if "does not fit its model" in failure.message:
            return [Finding("decode", f"the operator cannot decode an object: {failure.message}", subject="decode")]
    return []


def broken_invariants(outcome: Outcome) -> list[Finding]:
    """Every invariant of the user holds after every write."""
    return [
        Finding(
            "invariant",
            f"invariant {name} is broken: {reason}",
            (f"{format_duration(time)} after the start",),
            subject=name,
        )
        for time, name, reason in outcome.invariants
    ]


def undeclared(outcome: Outcome) -> list[Finding]:
    """The operator sends only writes that it declares, because its generated roles allow no others."""
    allowed = set(outcome.permitted)
    for sent in outcome.requests:
        verb = "patch" if sent.verb == "apply" else sent.verb
        if not allowed or allowed & {f"{one} {other}" for one in (verb, "*") for other in (sent.resource, "*")}:
            continue
        return [
            Finding(
                "rbac",
                f"the operator sends {verb} for {sent.resource}, but does not declare it: its roles forbid the request",
                (f"{verb} of {sent.resource} {sent.namespace}/{sent.name}",),
                subject=sent.resource,
            )
        ]
    return []
