"""Whatever a function is given, it answers, or fails as CEL fails: nothing else comes out of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kubewright.api.cel import CompileError, CostExceeded, Environment, EvaluationError, compile_expression, types

# private: calls every declared function, and no public name lists them
from kubewright.api.cel._declarations import functions
from kubewright.api.cel.functions import IMPLEMENTATIONS

VALUES: list[Any] = [
    None,
    True,
    -1,
    2**62,
    1.5,
    float("nan"),
    "",
    "a(b",
    "\0",
    b"\xff",
    [],
    [1, "a", None],
    {},
    {"a": [1]},
]
NAMES = [name for name in functions() if name[0].isalpha() and "@" not in name]


@pytest.mark.parametrize("name", NAMES)
def test_a_function_takes_anything_or_fails_as_cel_does(name: str) -> None:
    environment = Environment({"a": types.DYN, "b": types.DYN, "c": types.DYN}, patches=True)
    for overload in functions()[name]:
        arguments = ["a", "b", "c"][: len(overload.arguments)]
        if len(arguments) < len(overload.arguments):
            continue
        text = f"{name}({', '.join(arguments)})"
        if overload.is_member:
            text = f"{arguments[0]}.{name}({', '.join(arguments[1:])})"
        program = compile_expression(text, environment)
        for values in list(product(VALUES, repeat=len(arguments)))[::7]:
            try:
                program.run(dict(zip(arguments, values, strict=True)))
            except (EvaluationError, CostExceeded):
                continue


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%", "<", "<=", "==", "!=", "in", "&&", "||"])
def test_an_operator_takes_anything_or_fails_as_cel_does(operator: str) -> None:
    program = compile_expression(f"a {operator} b", Environment({"a": types.DYN, "b": types.DYN}))
    for one, other in product(VALUES, repeat=2):
        try:
            program.run({"a": one, "b": other})
        except EvaluationError:
            continue


@pytest.mark.parametrize(
    "text", ["a.b", "a[b]", "a[?b]", "a.?b", "has(a.b)", "!a", "-a", "a ? b : b", "a.all(x, x == b)", "[a][b]"]
)
def test_a_way_into_a_value_is_there_or_fails_as_cel_does(text: str) -> None:
    program = compile_expression(text, Environment({"a": types.DYN, "b": types.DYN}))
    for one, other in product(VALUES, repeat=2):
        try:
            program.run({"a": one, "b": other})
        except EvaluationError:
            continue


@pytest.mark.parametrize(
    "text", ["", " ", "((((", "\x00", "a" * 20_000, "(" * 400 + "1" + ")" * 400, "1" + "+1" * 3000, "'" * 3, "\ud800"]
)
def test_rejects_invalid_expressions(text: str) -> None:
    with pytest.raises(CompileError):
        compile_expression(text, Environment({}))


def test_every_function_that_is_declared_is_there() -> None:
    special = {"_?_:_", "_&&_", "_||_", "@not_strictly_false", "_==_", "_!=_", "_[?_]"}
    assert set(functions()) - special == set(IMPLEMENTATIONS)
