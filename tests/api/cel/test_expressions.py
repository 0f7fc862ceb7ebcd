"""What expressions are worth, and what goes wrong in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api.cel import CompileError, EvaluationError, compile_expression
from tests.api.cel.conftest import ENVIRONMENT, VALUES, VARIABLES

HERE = Path(__file__).parent


def lines(file: str) -> list[str]:
    """The expressions in a file beside this one: one in each line."""
    return [line for line in (HERE / file).read_text().splitlines() if not line.startswith("#")]


def pairs(file: str) -> dict[str, str]:
    """Expressions, each with what is said about it in the line below."""
    found = lines(file)
    return dict(zip(found[::2], map(str.strip, found[1::2]), strict=True))


FAILURES, MISTAKES = pairs("failures.txt"), pairs("mistakes.txt")


@pytest.mark.promise("CEL", "Rules of custom resources are evaluated as by the real server, with its messages.")
@pytest.mark.parametrize("text", lines("true.txt"))
def test_it_is_true(text: str, evaluate: Callable[[str], Any]) -> None:
    assert evaluate(text) is True


@pytest.mark.promise("CEL", "Rules of custom resources are evaluated as by the real server, with its messages.")
@pytest.mark.parametrize("text", FAILURES)
def test_failing_expressions_name_the_reason(text: str, evaluate: Callable[[str], Any]) -> None:
    with pytest.raises(EvaluationError) as failure:
        evaluate(text)
    assert str(failure.value).startswith(FAILURES[text])


@pytest.mark.promise(
    "CEL",
    "A misspelled field in a rule is refused when the definition is written, in the words of the real server.",
)
@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_found_before_anything_is_evaluated(text: str) -> None:
    with pytest.raises(CompileError) as mistake:
        compile_expression(text, ENVIRONMENT)
    assert str(mistake.value).startswith(f"ERROR: <input>:{MISTAKES[text]}")


def test_a_mistake_is_shown_in_its_line_with_a_mark_below_it() -> None:
    with pytest.raises(CompileError) as mistake:
        compile_expression("flag &&\n'ä' == nothing", ENVIRONMENT)
    shown = (
        "ERROR: <input>:2:8: undeclared reference to 'nothing' (in container '')\n | 'ä' == nothing\n | .\uff0e.....^"
    )
    assert str(mistake.value) == shown


@cache
def _by_the_library(text: str) -> Any:
    """The value by the parser's own runtime, which knows CEL but not Kubernetes."""
    from cel_expr_python import cel  # type: ignore[import-untyped]

    variables = {"x": cel.Type.INT, "y": cel.Type.INT, "a": cel.Type.DOUBLE, "s": cel.Type.STRING}
    return cel.NewEnv(variables=variables).compile(text)


NUMBERS = st.integers(min_value=-(2**63), max_value=2**63 - 1) | st.integers(min_value=-9, max_value=9)


@settings(max_examples=30, deadline=None)
@given(x=NUMBERS, y=NUMBERS)
@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%", "<", "<=", "==", "!=", ">", ">="])
def test_integers_match_another_engine(operator: str, x: int, y: int) -> None:
    text = f"x {operator} y"
    environment = ENVIRONMENT.__class__({"x": VARIABLES["number"][0], "y": VARIABLES["number"][0]})
    other = _by_the_library(text).eval(data={"x": x, "y": y})
    try:
        value = compile_expression(text, environment).run({"x": x, "y": y})[0]
    except EvaluationError:
        assert isinstance(other.value(), str)  # how the other one shows an error
    else:
        assert other.value() == value


@settings(max_examples=30, deadline=None)
@given(
    s=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
)  # at a NUL it stops reading
def test_strings_match_another_engine(s: str) -> None:
    text = "size(s) + (s.contains('a') ? 100 : 0) + (s.startsWith('b') ? 1000 : 0) + size(s + s + 'x')"
    environment = ENVIRONMENT.__class__({"s": VARIABLES["text"][0]})
    other = _by_the_library(text).eval(data={"s": s}).value()
    assert compile_expression(text, environment).run({"s": s})[0] == other


def test_rejects_nul_in_expression() -> None:
    with pytest.raises(CompileError, match=r"1:9: Syntax error: token recognition error"):
        compile_expression("text == \0'a'", ENVIRONMENT)


def test_matches_whole_string_with_nul() -> None:
    environment = ENVIRONMENT.__class__({"s": VARIABLES["text"][0]})
    program = compile_expression("s.matches('^[a-z]+$') || s.findAll('[A-Z]') == ['B']", environment)
    assert program.run({"s": "abc\0"})[0] is False
    assert program.run({"s": "abc\0B"})[0] is True


def test_a_program_can_be_run_again_and_keeps_nothing() -> None:
    program = compile_expression("numbers.map(n, n + number)", ENVIRONMENT)
    assert program.run(VALUES) == program.run(VALUES)
    assert "n" not in VALUES
