"""CEL rules of definitions: validation, and evaluation on objects, with the messages of the real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from kubewright.api.cel import (
    OMITTED,
    UNBOUNDED,
    Broken,
    CompiledRule,
    Declared,
    ExtraMissing,
    PathProblem,
    Rules,
    compile_node,
    declare,
    escape,
    field_path,
    has_rules,
    is_available,
)
from kubewright.cluster.machinery._failures import unsupported
from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["broken_rule", "cel_errors", "check_available", "default_rule_errors", "rule_shape_errors"]

_RULES: Final = "x-kubernetes-validations"
_RULE_LIMIT: Final = 10_000_000
_TOTAL_LIMIT: Final = 100_000_000
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAK: Final = re.compile(r"[\n\r]")
_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


def check_available(schema: JSONObject) -> None:
    """Rejects CEL rules with 501 if the extra `test` is not installed."""
    if has_rules(schema) and not is_available():
        raise unsupported(f"CEL rules as it is installed: {ExtraMissing()}")


# Objects


def broken_rule(broken: Broken) -> FieldError:
    """Returns the error for a rule that evaluated to false."""
    path = broken.path or "<nil>"
    match broken.reason:
        case "FieldValueForbidden":
            return forbidden(path, broken.detail)
        case "FieldValueRequired":
            return required(path, broken.detail)
        case "FieldValueDuplicate":
            if broken.value is OMITTED:
                return FieldError("FieldValueDuplicate", path, "Duplicate value")
            return duplicate(path, broken.value)
        case _:
            if broken.value is OMITTED:
                return FieldError("FieldValueInvalid", path, f"Invalid value: {broken.detail}")
            return invalid(path, broken.value, broken.detail)


def default_rule_errors(schema: JSONObject, path: str) -> Iterator[FieldError]:
    """Validates a default against the rules of its schema, as if the value had existed before."""
    if not is_available():
        return
    rules = Rules(schema, is_whole_object=bool(schema.get("x-kubernetes-embedded-resource")))
    outcome = rules.check(schema["default"], schema["default"], is_update=True)
    for broken in [*outcome.broken, *outcome.tolerated]:
        dot = "." if broken.path and not broken.path.startswith("[") else ""
        yield broken_rule(replace(broken, path=f"{path}{dot}{broken.path}"))


# Definitions: checks without compilation


def rule_shape_errors(schema: JSONObject, path: str) -> Iterator[FieldError]:
    """Validates the fields of the rules at one location."""
    for number, rule in enumerate(schema.get(_RULES) or ()):
        field = f"{path}.{_RULES}[{number}]"
        yield from _text_errors(rule, field)
        reason, given = rule.get("reason"), rule.get("fieldPath") or ""
        if reason is not None and reason not in _REASONS:
            yield not_supported(f"{field}.reason", reason, _REASONS)
        if given and not given.strip():
            yield invalid(f"{field}.fieldPath", given, "must be non-empty if specified")
        if _LINE_BREAK.search(given):
            yield invalid(f"{field}.fieldPath", given, "must not contain line breaks")
        if given:
            try:
                field_path(given, schema)
            except PathProblem:
                yield invalid(f"{field}.fieldPath", given, "must be a valid path")


def _text_errors(rule: JSONObject, field: str) -> Iterator[FieldError]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        yield required(f"{field}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{field}.message", message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield invalid(f"{field}.message", message, "must not contain line breaks")
    elif _LINE_BREAK.search(text) and not message.strip():
        yield required(f"{field}.message", "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        yield required(f"{field}.messageExpression", "messageExpression must be non-empty if specified")


# Definitions: compilation and cost


@dataclass(slots=True)
class _Total:
    """The estimated cost of all rules of a schema."""

    cost: int = 0
    expensive: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, cost: int) -> None:
        self.cost = min(self.cost + cost, UNBOUNDED)
        if cost >= _TOTAL_LIMIT // 100:
            self.expensive = sorted([*self.expensive, (cost, path)], key=lambda each: -each[0])[:4]


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the schema and the properties it inherits."""

    schema: JSONObject
    path: str
    declared: Declared | None
    cardinality: int | None = 1
    """How many times the node can occur in an object; None if unlimited."""
    uncorrelated: str = ""
    """The list whose elements cannot be correlated with the old ones."""


def cel_errors(schema: JSONObject, path: str) -> list[FieldError]:
    """Validates the rules of an otherwise valid schema."""
    total = _Total()
    declared = declare(schema, "selfType", is_whole_object=True)
    found = list(_visit(_Node(schema, path, declared), total))
    if total.cost > _TOTAL_LIMIT:
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        found += [forbidden(field, text) for _, field in total.expensive]
        name = f"{_RULES} estimated rule cost total for entire OpenAPIv3 schema"
        found.append(forbidden(path, _exceeded(name, total.cost, _TOTAL_LIMIT)))
    return found


def _visit(node: _Node, total: _Total) -> Iterator[FieldError]:
    for below in _below(node):
        yield from _visit(below, total)
    if not node.schema.get(_RULES) or any(_shape_errors_below(node.schema, node.path)):
        return
    path = f"{node.path}.{_RULES}"
    if node.declared is None:
        text = "internal error: failed to construct type information for x-kubernetes-validations rules: "
        text += "unable to convert structural schema to CEL declarations"
        yield FieldError("InternalError", path, f"Internal error: {text}")
        return
    for number, rule in enumerate(compile_node(node.schema, node.declared)):
        yield from _rule_errors(rule, f"{path}[{number}]", node, total)


def _below(node: _Node) -> Iterator[_Node]:
    schema, declared = node.schema, node.declared
    cardinality = _times(node.cardinality, _most_elements(schema))
    element = declared.element if declared is not None else None
    others, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(others, dict):
        yield _Node(others, f"{node.path}.additionalProperties", element, cardinality, node.uncorrelated)
    for name, member in (schema.get("properties") or {}).items():
        escaped = escape(name)
        known = declared.fields.get(escaped) if declared is not None and escaped is not None else None
        if known is None:
            known = declare(member, "selfType", is_whole_object=bool(member.get("x-kubernetes-embedded-resource")))
        yield _Node(member, f"{node.path}.properties[{name}]", known, cardinality, node.uncorrelated)
    if isinstance(items, dict):
        kept = schema.get("x-kubernetes-list-type") == "map"
        yield _Node(items, f"{node.path}.items", element, cardinality, node.uncorrelated if kept else node.path)


def _most_elements(schema: JSONObject) -> int | None:
    match schema.get("type"):
        case "object" if schema.get("additionalProperties") is not None:
            return schema.get("maxProperties")
        case "array":
            return schema.get("maxItems")
        case _:
            return 1


def _times(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else min(one * max(other, 0), UNBOUNDED)


def _shape_errors_below(schema: JSONObject, path: str) -> Iterator[FieldError]:
    yield from rule_shape_errors(schema, path)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _shape_errors_below(schema[key], path)
    for member in (schema.get("properties") or {}).values():
        yield from _shape_errors_below(member, path)


def _rule_errors(rule: CompiledRule, path: str, node: _Node, total: _Total) -> Iterator[FieldError]:
    often = rule.cardinality if node.cardinality is None else node.cardinality
    cost = min(rule.cost * often, UNBOUNDED)
    if cost > _RULE_LIMIT:
        yield forbidden(f"{path}.rule", _exceeded("estimated rule cost", cost, _RULE_LIMIT))
    total.add(f"{path}.rule", cost)
    if rule.problem:
        yield _invalid_rule(f"{path}.rule", rule, rule.problem)
    if rule.message_problem:
        yield _invalid_rule(f"{path}.messageExpression", rule, rule.message_problem)
    elif rule.message is not None:
        if rule.message_cost > _RULE_LIMIT:
            text = _exceeded("estimated messageExpression cost", rule.message_cost, _RULE_LIMIT)
            yield forbidden(f"{path}.messageExpression", text)
        total.add(f"{path}.messageExpression", rule.message_cost)
    if rule.uses_old:
        if node.uncorrelated:
            text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {node.uncorrelated}"
            yield invalid(f"{path}.rule", rule.raw["rule"], text)
    elif rule.raw.get("optionalOldSelf") is not None:
        text = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{path}.optionalOldSelf", rule.raw["optionalOldSelf"], text)


def _exceeded(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    shown = "more than 100x" if factor > 100 else shown
    return f"{name} exceeds budget by factor of {shown} {_ADVICE}"


def _invalid_rule(path: str, rule: CompiledRule, detail: str) -> FieldError:
    """Returns the error with the rule in the server's internal form."""
    raw = rule.raw
    shown: dict[str, Any] = {
        "Rule": raw.get("rule", ""),
        "Message": raw.get("message", ""),
        "MessageExpression": raw.get("messageExpression", ""),
        "Reason": raw.get("reason"),
        "FieldPath": raw.get("fieldPath", ""),
        "OptionalOldSelf": raw.get("optionalOldSelf"),
    }
    text = msgspec.json.encode(shown).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return FieldError("FieldValueInvalid", path, f"Invalid value: {text}: {detail}")
