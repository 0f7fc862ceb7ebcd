"""The rules of a schema: violations, tolerated violations, and the cost limit."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api.cel import (
    Broken,
    CostExceeded,
    Environment,
    ExtraMissing,
    Rules,
    compile_expression,
    compile_node,
    declare,
    has_rules,
    is_available,
    types,
)


def spec(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def rule(text: str, **more: Any) -> dict[str, Any]:
    return {"rule": text, **more}


def ruled(schema: dict[str, Any], *rules: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": list(rules)}


def whole(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": members}


def paths(found: list[Broken]) -> list[str]:
    return [broken.path for broken in found]


def test_a_schema_without_rules_has_none() -> None:
    assert not Rules(spec(a={"type": "integer"}))
    assert not has_rules(spec(a={"type": "integer"}))
    assert Rules(spec(a={"type": "integer"})).check(whole(a=1)).broken == []


def test_violation_names_field_value_and_problem() -> None:
    rules = Rules(spec(a=ruled({"type": "integer"}, rule("self > 1"), rule("self > 2", message=" too small "))))
    assert rules.check(whole(a=1)).broken == [
        Broken("FieldValueInvalid", "spec.a", 1, "failed rule: self > 1"),
        Broken("FieldValueInvalid", "spec.a", 1, "too small"),
    ]


def test_paths_of_lists_and_maps_match_the_server() -> None:
    number = ruled({"type": "integer"}, rule("self > 1"))
    schema = spec(
        many={"type": "array", "items": number},
        named={"type": "object", "additionalProperties": {"type": "array", "items": number}},
    )
    assert paths(Rules(schema).check(whole(many=[5, 0], named={"a.b": [5, 1]})).broken) == [
        "spec.many[1]",
        "spec.named[a.b][1]",
    ]


def test_evaluates_transition_rules_only_for_updates() -> None:
    rules = Rules(spec(a=ruled({"type": "integer"}, rule("self >= oldSelf"))))
    assert rules.check(whole(a=1)).broken == []
    assert rules.check(whole(a=1), whole(), is_update=True).broken == []
    assert rules.check(whole(a=2), whole(a=1), is_update=True).broken == []
    assert paths(rules.check(whole(a=1), whole(a=2), is_update=True).broken) == ["spec.a"]


def test_evaluates_rules_with_optional_old_value_always() -> None:
    optional = rule("oldSelf.hasValue() ? self >= oldSelf.value() : self == 0", optionalOldSelf=True)
    rules = Rules(spec(a=ruled({"type": "integer"}, optional)))
    assert paths(rules.check(whole(a=1)).broken) == ["spec.a"]
    assert rules.check(whole(a=0)).broken == []
    assert rules.check(whole(a=5), whole(a=4), is_update=True).broken == []


@pytest.mark.promise(
    "CEL",
    "What breaks a rule and has not changed is tolerated, element by element where they have keys.",
)
def test_compares_list_elements_by_key() -> None:
    element = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    rules = Rules(spec(disks={**keyed, "items": ruled(element, rule("self.size >= oldSelf.size"))}))
    before = whole(disks=[{"name": "a", "size": 5}, {"name": "b", "size": 1}])
    after = whole(disks=[{"name": "b", "size": 2}, {"name": "new", "size": 0}, {"name": "a", "size": 4}])
    assert paths(rules.check(after, before, is_update=True).broken) == ["spec.disks[2]"]


@pytest.mark.promise(
    "CEL",
    "What breaks a rule and has not changed is tolerated, element by element where they have keys.",
)
def test_tolerates_unchanged_violations() -> None:
    rules = Rules(spec(a=ruled({"type": "integer"}, rule("self > 9")), b=ruled({"type": "integer"}, rule("self > 9"))))
    outcome = rules.check(whole(a=1, b=3), whole(a=1, b=2), is_update=True)
    assert (paths(outcome.broken), paths(outcome.tolerated)) == (["spec.b"], ["spec.a"])


def test_tolerates_elements_of_unkeyed_lists_only_if_the_list_is_unchanged() -> None:
    rules = Rules(spec(many={"type": "array", "items": ruled({"type": "integer"}, rule("self > 9"))}))
    same = rules.check(whole(many=[1]), whole(many=[1]), is_update=True)
    longer = rules.check(whole(many=[1, 10]), whole(many=[1]), is_update=True)
    assert (paths(same.tolerated), paths(longer.broken)) == (["spec.many[0]"], ["spec.many[0]"])


def test_compares_sets_and_keyed_lists_without_order() -> None:
    texts = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    rules = Rules(spec(tags=ruled(texts, rule("self == oldSelf"), rule("(self + ['a', 'c']).size() == 3"))))
    assert rules.check(whole(tags=["a", "b"]), whole(tags=["b", "a"]), is_update=True).broken == []


def test_reports_an_evaluation_error_with_its_rule() -> None:
    schema = ruled({"type": "object", "properties": {"a": {"type": "integer"}}}, rule("self.a > 1"))
    found = Rules(spec(part=schema)).check(whole(part={})).broken
    assert found == [
        Broken("FieldValueInvalid", "spec.part", "object", "no such key: a evaluating rule: self.a > 1"),
    ]


@pytest.mark.promise("CEL", "A runaway rule is stopped by its cost, not by a clock; so is a pattern.")
def test_stops_at_a_rule_that_exceeds_the_cost_limit() -> None:
    loop = "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))"
    many = {"type": "array", "items": {"type": "integer"}}
    rules = Rules(spec(many=ruled(many, rule(loop), rule("false"))))
    found = rules.check(whole(many=[0] * 1000)).broken
    assert len(found) == 1
    assert found[0].detail == (
        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost "
        f"exceeds limit for rule: {loop}"
    )


@pytest.mark.promise("CEL", "Rules share a budget.")
def test_many_rules_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    # private: a budget that a small object exhausts
    monkeypatch.setattr("kubewright.api.cel._rules.BUDGET", 150_000)
    many = {"type": "array", "items": {"type": "integer"}}
    rules = Rules(spec(many=ruled(many, *[rule("self.all(x, self.all(y, x + y >= 0))")] * 9)))
    found = rules.check(whole(many=[0] * 60)).broken
    assert [broken.detail for broken in found] == [
        "validation failed due to running out of cost budget, no further validation rules will be run"
    ]


@pytest.mark.promise("CEL", "A runaway rule is stopped by its cost, not by a clock; so is a pattern.")
@pytest.mark.parametrize(
    "text",
    [
        "lists.range(900000000000).size() > 0",
        "texts.all(a, texts.all(b, texts.all(c, texts.all(d, a + b + c + d != ''))))",
        "'a'.matches(texts[0]) || texts.map(t, texts.map(u, texts.map(v, t + u + v))).size() > 0",
    ],
)
def test_bounds_the_cost_of_every_expression(text: str) -> None:
    program = compile_expression(text, Environment({"texts": types.list_of(types.STRING)}))
    with pytest.raises(CostExceeded):
        program.run({"texts": ["x" * 100] * 200})


@pytest.mark.promise("CEL", "A runaway rule is stopped by its cost, not by a clock; so is a pattern.")
def test_matches_patterns_in_linear_time() -> None:
    program = compile_expression("s.matches('^(a+)+$')", Environment({"s": types.STRING}))
    assert program.run({"s": "a" * 5000 + "b"})[0] is False  # backtracking would take centuries


# Calculated from the server's costs: 1 for a name or a field, 10 for a list, and 1 or the size of its input for a call.
COSTS = {
    "self.a == 'x'": 3,
    "self.n + 1 > 2": 4,
    "self.many.all(x, x > 0)": 2 + 10 * 5 + 1,
    "has(self.a)": 1,
    "self.n in [1, 2, 3]": 15,
}


@pytest.mark.promise("CEL", "What a rule may cost is estimated from the schema.")
@pytest.mark.parametrize("text", COSTS)
def test_estimates_cost_from_schema(text: str) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "maxLength": 2},
            "n": {"type": "integer"},
            "many": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
        },
        "x-kubernetes-validations": [rule(text)],
    }
    declared = declare(schema, "self")
    assert declared is not None
    assert [compiled.cost for compiled in compile_node(schema, declared)] == [COSTS[text]]


@pytest.mark.promise(
    "CEL", "Without the `cel` extra, rules and policies are rejected, and the message names the extra."
)
def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from kubewright.api.cel import _syntax  # private: forgets the cached parser, as if the extra were not installed

    monkeypatch.setitem(sys.modules, "cel_expr_python", None)  # simulates a missing package
    _syntax._environment.cache_clear()
    assert not is_available()
    with pytest.raises(ExtraMissing, match=r"pip install 'kubewright\[test\]'"):
        _syntax.parse("1 + 1")
