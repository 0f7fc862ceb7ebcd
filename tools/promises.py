"""Writes docs/design/promises.md from the `promise` markers of the tests, also those of the examples.

A test carries its promise itself:

    @pytest.mark.promise("The queue", "A key is never handed to two workers.")
    def test_hands_a_key_to_one_worker() -> None: ...

Several tests may carry the same promise, and one test several. `--check` writes nothing and fails if the page is out
of date.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "design" / "promises.md"
SECTIONS = (
    "What the cache keeps",
    "Reading the cache",
    "The stream from the server",
    "Listening to the cache",
    "Our own writes",
    "The queue",
    "How a reconcile ends",
    "What wakes a reconciler",
    "What a reconciler works with",
    "Owned objects and `apply`",
    "Writing with the client",
    "Reading with the client",
    "Watching an operator",
    "Streams of pods",
    "Pods as processes",
    "When a request fails",
    "Configuration and credentials",
    "Injected time, randomness and transport",
    "Running an operator",
    "Typed objects",
    "Definitions from types",
    "Manifests",
    "Roles",
    "Types from definitions",
    "Packaging",
    "Projects",
    "Development",
    "How the embedded cluster merges",
    "What happens when",
    "The control plane for tests",
    "The embedded cluster",
    "Webhooks of the embedded cluster",
    "The laboratory of the embedded cluster",
    "The explorer",
    "Access to the embedded cluster",
    "Webhooks",
    "The certificate of the webhooks",
    "CEL",
    "Access to the console and its cost",
    "Lists and layout of the console",
    "Objects and operators in the console",
    "Forms of the console",
    "Packages for OLM",
    "Postgres example",
)
"""The headings of the page, in order. A marker names one of them."""
HEAD = """\
# Promises and the tests that show them

Generated from the tests by `python -m tools.promises`; edit the `promise` markers there. Tests in files named
`test_on_control_plane.py`, in `tests/operator`, and most of those in `tests/client` run on a real kube-apiserver. The
others need no server, and use a virtual clock where time matters.
"""


class Promise(NamedTuple):
    """One marker: the promise of a test."""

    section: str
    sentence: str
    test: str
    """As pytest names it, relative to the project: `tests/queue/test_queue.py::test_x`."""


def files_with_tests(root: Path = ROOT) -> list[Path]:
    """Returns the files with tests: those of the project, then those of the examples."""
    return [file for folder in ("tests", "examples") for file in sorted((root / folder).rglob("test_*.py"))]


def promises_in(file: Path, root: Path = ROOT) -> Iterator[Promise]:
    """Yields the promises of a file in order. Raises ValueError for a marker that is not two strings."""
    name = file.relative_to(root).as_posix()
    yield from _promises(ast.parse(file.read_text(encoding="utf-8")).body, name)


def _promises(statements: list[ast.stmt], within: str) -> Iterator[Promise]:
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Call() as marker)) if _marks(marker):
                yield _promise(marker, f"{within}::{name}")  # the test case that hypothesis makes of a state machine
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            test = f"{within}::{statement.name}"
            for decorator in statement.decorator_list:
                if isinstance(decorator, ast.Call) and _marks(decorator):
                    yield _promise(decorator, test)
            if isinstance(statement, ast.ClassDef):
                yield from _promises(statement.body, test)


def _marks(call: ast.Call) -> bool:
    return ast.unparse(call.func) == "pytest.mark.promise"


def _promise(marker: ast.Call, test: str) -> Promise:
    values = [argument.value for argument in marker.args if isinstance(argument, ast.Constant)]
    match values:
        case [str(section), str(sentence)] if len(marker.args) == 2 and not marker.keywords:
            return Promise(section, sentence, test)
    raise ValueError(f"{test}: pytest.mark.promise takes a section and a sentence, both as string literals")


def page_of(promises: list[Promise]) -> str:
    """Returns the page. Raises ValueError for a section that is not in `SECTIONS`, or that has no promise."""
    tests: dict[str, dict[str, list[str]]] = {section: {} for section in SECTIONS}
    for promise in promises:
        if promise.section not in tests:
            raise ValueError(f"{promise.test}: no section {promise.section!r}; the sections are in tools/promises.py")
        tests[promise.section].setdefault(promise.sentence, []).append(promise.test)
    if empty := [section for section, found in tests.items() if not found]:
        raise ValueError(f"no test has a promise of the section {empty[0]!r}; remove it from tools/promises.py")
    parts = [HEAD]
    for section, found in tests.items():
        rows = [f"| {sentence} | {', '.join(f'`{test}`' for test in shown)} |" for sentence, shown in found.items()]
        parts.append("\n".join([f"## {section}", "", "| promise | shown by |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def current_page() -> str:
    """Returns the page as the tests say it now."""
    return page_of([promise for file in files_with_tests() for promise in promises_in(file)])


def main(arguments: list[str]) -> int:
    page = current_page()
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == page:
        return 0
    print("docs/design/promises.md is out of date; run: python -m tools.promises", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
