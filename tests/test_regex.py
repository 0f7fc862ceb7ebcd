"""Patterns mean what they mean to kube-apiserver, and take linear time."""

from __future__ import annotations

import ast
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated

import pytest

import kubewright as kw
from kubewright import regex
from kubewright.regex import QUANTITY, EngineMissing, InvalidPattern, check_pattern, find_all, text_matches
from tests.sources import PACKAGE, parsed


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "missing closing ): `(`"),
        ("[", "missing closing ]: `[`"),
        (")", "unexpected ): `)`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("((a{100}){100}){100}", "invalid repeat count: `{100}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?s", "invalid or unsupported Perl syntax: `(?s`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\u0041", r"invalid escape sequence: `\u`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a++", "invalid nested repetition operator: `++`"),
        ("x{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(" * 1001 + ")" * 1001, "expression nests too deeply: `(((("),
    ],
)
def test_rejects_invalid_patterns_in_the_words_of_go(pattern: str, problem: str) -> None:
    with pytest.raises(InvalidPattern) as refused:
        check_pattern(pattern)
    assert str(refused.value).startswith(f"error parsing regexp: {problem}")


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("b", "abc", True),
        ("a$", "a\n", False),
        (r"^\d+$", "3", True),
        (r"^\d+$", "٣", False),
        (r"^\w+$", "é", False),
        (r"^\s$", "\v", False),
        (r"^\s$", "\u00a0", False),
        ("(?m)^b$", "a\nb\nc", True),
        ("^.$", "\n", False),
        ("(?s)^.$", "\n", True),
        ("^.$", "😀", True),
        ("^.$", "\0", True),
        (r"^\pL+$", "é", True),
        ("(?i)^k$", "\u212a", True),
        (r"\bx\b", "éxé", True),
        (r"^\x{41}\z", "A", True),
        (r"(?U)^a+$", "aa", True),
        (r"^\Qa.b\E$", "a.b", True),
        (r"\Q\C\E", r"\C", True),
        ("^(a+)+$", "a\0", False),
        ("^(?P<n>a)(?P<n>b)$", "ab", True),
    ],
)
def test_matches_as_kube_apiserver_does(pattern: str, text: str, found: bool) -> None:
    assert text_matches(pattern, text) is found


def test_finds_all_as_go_does() -> None:
    assert list(find_all("a*", "baac")) == ["", "aa", ""]
    assert list(find_all("é", "éaé")) == ["é", "é"]
    assert list(find_all(r"\d+", "1 22\0 333")) == ["1", "22", "333"]


@pytest.mark.promise("Forms of the console", "A pattern that Python could take years for does not stop the console.")
def test_hostile_patterns_take_linear_time() -> None:
    program = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "from kubewright.regex import text_matches\n"
        "for pattern in ('^(a+)+$', '^(a|a)*$', '(.*)*x', '^(a?){500}a{500}$'):\n"
        "    for text in ('a' * 30 + 'b', 'a' * 20_000 + '!', 'a' * 100 + chr(0)):\n"
        "        assert not text_matches(pattern, text)\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.fixture
def without_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    monkeypatch.setattr(regex, "find_spec", lambda _name: None)
    regex._compiled.cache_clear()
    regex.skip_pattern.cache_clear()


@pytest.mark.usefixtures("without_engine")
def test_skips_patterns_with_one_warning_without_the_engine(caplog: pytest.LogCaptureFixture) -> None:
    class Spec(kw.Model):
        word: Annotated[str, kw.Pattern("^(a+)+$")]

    @kw.resource("example.com/v1")
    class Word(kw.Resource[Spec, None]):
        pass

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            kw.validate(Word(spec=Spec(word="a" * 40 + "!")))
    assert [record.getMessage() for record in caplog.records] == [
        "patterns are not checked here, the API server checks them: google-re2 is not installed;"
        " to check them, pip install 'kubewright[test]'"
    ]
    with pytest.raises(EngineMissing, match="google-re2"):
        text_matches("a", "a")


@pytest.mark.usefixtures("without_engine")
def test_quantities_need_no_engine() -> None:
    assert text_matches(QUANTITY, "100Mi")
    assert not text_matches(QUANTITY, "100Mi\n")


def dynamic_patterns(tree: ast.Module) -> Iterator[int]:
    """The lines where `re` takes a pattern that is not written there, nor a constant."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr not in ("escape", "Match", "Pattern")
            and node.args
            and not is_constant(node.args[0])
        ):
            yield node.lineno


def is_constant(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Name():
            return node.id.isupper()
        case ast.Attribute(attr="pattern"):
            return is_constant(node.value)
        case ast.JoinedStr():
            return all(is_constant(part.value) for part in node.values if isinstance(part, ast.FormattedValue))
        case ast.Call(func=ast.Attribute(attr="escape" | "encode" | "replace", value=value)):
            return ast.unparse(value) == "re" or is_constant(value)
        case ast.BinOp():
            return is_constant(node.left) and is_constant(node.right)
    return False


REVIEWED = {
    "api/schema/_formats.py": "the patterns of formats, all in that file",
    "testing/_objects.py": "Hypothesis makes texts from the patterns of the tested classes",
}


def test_no_pattern_from_elsewhere_reaches_re() -> None:
    found = [
        f"{file.relative_to(PACKAGE)}:{line}: use kubewright.regex"
        for file, tree in parsed("re.")
        if file.relative_to(PACKAGE).as_posix() not in REVIEWED
        for line in dynamic_patterns(tree)
    ]
    assert found == []
