"""The page of promises names tests that exist, and no promise stands there without one."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "design" / "promises.md"
_NAMED = re.compile(r"`((?:tests|examples)/[^`]*?\.py)::([^`]*)`")


def rows() -> list[tuple[str, list[tuple[str, str]]]]:
    """Each promise, and the tests that are named for it, as file and name."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and line != "| promise | shown by |":
            _, promise, tests, _ = line.split("|")
            found.append((promise.strip(), _NAMED.findall(tests)))
    return found


@functools.cache
def collected_in(file: str) -> frozenset[str]:
    """The tests of a file that pytest collects, as pytest names them; none when it does not collect the file."""
    path = ROOT / file
    if not path.is_file() or not path.name.startswith("test_"):
        return frozenset()
    return frozenset(_tests(ast.parse(path.read_text(encoding="utf-8")).body))


def _tests(statements: list[ast.stmt], within: str = "") -> list[str]:
    names = []
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                names.append(within + name)
            case ast.ClassDef(name=name, body=body) if name.startswith("Test"):
                names += [within + name, *_tests(body, f"{within}{name}::")]
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("Test"):
                names.append(within + name)  # the test case that hypothesis makes of a state machine
    return names


def test_every_promise_names_a_test() -> None:
    assert len(rows()) > 100
    assert [promise for promise, tests in rows() if not tests] == []


def test_every_test_that_is_named_exists() -> None:
    named = [(file, name) for _, tests in rows() for file, name in tests]
    unknown = [f"{file}::{name}" for file, name in named if name not in collected_in(file)]
    assert not unknown, "the page names tests that do not exist:\n" + "\n".join(unknown)


def test_everything_that_looks_like_a_test_is_checked() -> None:
    checked = sum(len(tests) for _, tests in rows())
    assert PAGE.read_text(encoding="utf-8").count("::test_") + 1 == checked  # one is a class


def test_no_promise_stands_there_twice() -> None:
    promises = [promise for promise, _ in rows()]
    assert sorted(set(promises)) == sorted(promises)
