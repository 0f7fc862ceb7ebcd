"""Patterns of definitions in forms."""

from __future__ import annotations

import pytest

from kubewright.console.forms import Checker, form_for


@pytest.mark.promise("Forms of the console", "A pattern with exponential backtracking does not block the console.")
def test_checks_backtracking_pattern_in_linear_time() -> None:
    text = {"type": "string", "pattern": "^(a+)+$"}
    spec = {"type": "object", "properties": {"words": {"type": "array", "items": text}}}
    members = {name: {"type": "string"} for name in ("apiVersion", "kind")} | {"metadata": {"type": "object"}}
    form = form_for("Foo", {"type": "object", "properties": members | {"spec": spec}}, namespaced=True)
    value = {
        "apiVersion": "example.com/v1",
        "kind": "Foo",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"words": ["aa", "a!", "a" * 200 + "!", "a" * 200]},
    }
    problems = Checker(form, namespaced=True).check(value)
    assert [problem.path for problem in problems] == [("spec", "words", 1), ("spec", "words", 2)]
