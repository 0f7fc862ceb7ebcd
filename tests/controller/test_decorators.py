"""Decorators of an operator with missing, surplus or misplaced arguments."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubewright.controller import Context
from kubewright.operator import Operator
from tests.controller.conftest import Part, Thing


@pytest.mark.parametrize("decorator", ["reconciles", "finalizes", "deleted", "daemon", "validates", "defaults"])
def test_rejects_a_decorator_without_parentheses(operator: Operator, decorator: str) -> None:
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    class Syncing:
        async def reconcile(self, obj: Thing, ctx: Context[Thing]) -> None: ...

    for given, name in ((sync, r".*\.sync"), (Syncing, r".*\.Syncing")):
        message = rf"^@operator\.{decorator} needs a kind, and got {name}: write @operator\.{decorator}\(Kind\)$"
        with pytest.raises(TypeError, match=message):
            getattr(operator, decorator)(given)


@pytest.mark.parametrize(
    ("decorator", "arguments", "message"),
    [
        ("reconciles", [], "reconciles needs kind: reconciles(kind, ...)"),
        ("reconciles", [Thing, Part], "too many positional arguments for reconciles: reconciles(kind, ...); pass opt"),
        ("every", [Thing], "every needs interval: every(kind, interval, ...)"),
        ("every", [], "every needs kind and interval: every(kind, interval, ...)"),
        ("every", [Thing, 5, "poll"], "every(kind, interval, ...); pass options by name: labels, reads, concurrency,"),
        ("every", [Thing, "often"], "every(Thing): interval must be a duration, such as 30s, "),
        ("indexes", [Thing], "indexes needs name: indexes(kind, name)"),
        ("deleted", [Thing, 5], "too many positional arguments for deleted: deleted(kind)"),
        ("converts", [Thing], "converts needs target: converts(source, target)"),
        ("defaults", [], "defaults needs kind: defaults(kind)"),
        ("page", [], "page needs path: page(path)"),
        ("attach", [], "attach needs component: attach(component, ...)"),
    ],
)
def test_rejects_missing_and_surplus_arguments(
    operator: Operator, decorator: str, arguments: list[Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        getattr(operator, decorator)(*arguments)


def test_names_options_that_can_be_positional(operator: Operator) -> None:
    with pytest.raises(TypeError, match=r"^every has no option 'intervall'\. Did you mean 'interval'\?"):
        operator.every(Thing, intervall="3s")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^page has no option 'Path'\. Did you mean 'path'\?"):
        operator.page(Path="/x")  # type: ignore[call-arg]
