"""Patterns that Python could take years for."""

from __future__ import annotations

import pytest

from kubewright.console.forms import Checker, Problem, form_of
from kubewright.console.forms._patterns import may_take_long, without_slow_patterns

HARMLESS = [
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$",
    r"^([0-9]{1,5}(h|m|s|ms)){1,4}$",
    r"^(\d+\.)*\d+$",
    r"^(/[^/]+)+$",
    r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==)?$",
    r"^(red|green)$",
    r"[(*+)]+",
    r"\(a+\)+",
    r"^[]a]*$",
    "",
]
SLOW = [
    r"^(a+)+$",
    r"^(a*)*b",
    r"^((a)+)+$",
    r"^(a|a)*$",
    r"^(?:a|ab)+$",
    r"^(?P<x>a+){2,}$",
    r"^(a+){1,50}$",
    r"^(.a*)*$",
    r"^(\.[a-z.]*)*$",
    r"^(\.*a*)+$",
    r"^(xa*a*)*$",
    r"^(\w+\s?)*$",
]


@pytest.mark.parametrize("pattern", HARMLESS)
def test_harmless_patterns_are_asked_always(pattern: str) -> None:
    assert not may_take_long(pattern)


@pytest.mark.parametrize("pattern", SLOW)
def test_patterns_that_may_take_long_are_known(pattern: str) -> None:
    assert may_take_long(pattern)


def test_a_form_asks_a_slow_pattern_of_short_texts_and_leaves_long_ones_to_the_server() -> None:
    text = {"type": "string", "pattern": "^(a+)+$"}
    named = {"type": "object", "properties": {"pattern": {"type": "string"}, "words": {"type": "array", "items": text}}}
    members = {name: {"type": "string"} for name in ("apiVersion", "kind")} | {"metadata": {"type": "object"}}
    form = form_of("Foo", {"type": "object", "properties": members | {"spec": named}}, namespaced=True)
    checker = Checker(form, namespaced=True)
    about = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a" * 40, "namespace": "default"}}

    def problems(*words: str) -> list[Problem]:
        return checker.check({**about, "spec": {"words": [*words]}})

    assert [problem.path for problem in problems("aa", "a!")] == [("spec", "words", 1)]
    assert problems("a" * 200 + "!") == []  # at once: Python would take longer than the universe has been there


def test_a_schema_without_slow_patterns_stays_itself() -> None:
    schema = {"properties": {"pattern": {"type": "string", "pattern": "^a+$"}}, "oneOf": [{"pattern": "b"}]}
    assert without_slow_patterns(schema) is schema
    assert without_slow_patterns({"oneOf": [{"pattern": "(a*)*"}]}) == {"oneOf": [{}]}
