"""Imports go only downwards, room by room, and tests use public names."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.sources import PACKAGE, parsed

# From the top of the house to its foundations; rooms on one floor do not know each other.
FLOORS = [
    {"cli"},
    {"development"},
    {"testing", "console"},
    {"explore"},
    {"olm"},
    {"cluster", "deployment"},
    {"manifests"},
    {"operator", "codegen", "scaffold"},
    {"webhook"},
    {"controller"},
    {"observe"},
    {"events", "election"},
    {"queue", "cache", "crd"},
    {"client"},
    {"columns", "diff", "rbac"},
    {"kubelet"},
    {"api"},
    {"streaming"},
    {"http", "progress"},
    {"causes", "clock", "watchdog"},
    {"durations", "pausing"},
    {"arguments", "kubeconfig", "lazy", "redaction", "structs"},
    {"certificates", "files", "yaml"},
    {
        "backoff",
        "catalog",
        "counts",
        "documentation",
        "garbage",
        "interning",
        "key_pair",
        "lru",
        "names",
        "programs",
        "regex",
        "rotating_file",
        "signatures",
        "supervision",
        "suggestions",
        "tasks",
        "turns",
        "user_code",
        "version",
    },
]
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


class Import(NamedTuple):
    """One import of a module of Kubewright, also inside a function or for typing only."""

    module: str
    imported: str
    line: int
    for_typing: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.imported}"


def module_of(file: Path) -> str:
    return ".".join(("kubewright", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {module_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@functools.cache
def nodes_of(module: str) -> list[ast.AST]:
    """Returns the imports, the blocks for typing and the names of modules as strings.

    Reading all modules takes most of the time of these tests. Other nodes are not kept: garbage collections would visit
    them again and again.
    """
    found: list[ast.AST] = []
    rest: list[ast.AST] = [ast.parse(MODULES[module].read_text())]
    while rest:  # `ast.walk` takes twice as long
        node = rest.pop()
        if is_looked_at(node):
            found.append(node)
        for value in vars(node).values():
            if isinstance(value, list):
                rest.extend(each for each in value if isinstance(each, ast.AST))
            elif isinstance(value, ast.AST):
                rest.append(value)
    return found


def is_looked_at(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value in MODULES
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.Import | ast.ImportFrom)


@functools.cache
def imports() -> list[Import]:
    return [found for module in MODULES for found in imports_in(module)]


def imports_in(module: str) -> Iterator[Import]:
    for_typing = {
        id(node)
        for block in nodes_of(module)
        if isinstance(block, ast.If)
        for statement in block.body
        for node in ast.walk(statement)
    }
    for node in nodes_of(module):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            imported = name if name in MODULES else name.rpartition(".")[0]
            if imported in MODULES and imported != module:
                yield Import(module, imported, node.lineno, id(node) in for_typing)


def is_door(module: str) -> bool:
    """Whether other rooms may import it: a package, a module directly below `kubewright`, or a version of an API."""
    is_version = re.fullmatch(r"kubewright\.api\.\w+\.v\w+", module)
    return MODULES[module].name == "__init__.py" or module.count(".") == 1 or is_version is not None


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Returns the groups of modules that import each other."""
    sorter = graphlib.TopologicalSorter(graph)
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        found: list[str] = error.args[1]
        return [found, *cycles({module: graph[module] - set(found) for module in graph if module not in found})]
    return []


def test_every_room_is_on_a_floor() -> None:
    rooms = {room_of(module) for module in MODULES} - {"", "__main__"}
    assert rooms == set(FLOOR_OF)


@pytest.mark.promise("Injected time, randomness and transport", "Imports go only downwards.")
def test_imports_go_only_downwards() -> None:
    upwards = [
        str(found)
        for found in imports()
        if (above := FLOOR_OF.get(room_of(found.module))) is not None
        and (below := FLOOR_OF.get(room_of(found.imported))) is not None
        and below <= above
        and room_of(found.module) != room_of(found.imported)
    ]
    assert upwards == []


def test_rooms_are_entered_through_their_doors() -> None:
    inside = [
        str(found)
        for found in imports()
        if room_of(found.module) != room_of(found.imported) and not is_door(found.imported)
    ]
    assert inside == []


def test_modules_below_the_package_have_public_names() -> None:
    assert [module for module in MODULES if module.count(".") == 1 and module.startswith("kubewright._")] in (
        [],
        ["kubewright.__main__"],
    )


def test_no_module_is_imported_past_a_door_by_its_name() -> None:
    """`importlib`, lazy exports and the like name modules as strings."""
    named = [
        f"{module}:{node.lineno} names {node.value}"
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value in MODULES and room_of(node.value) != room_of(module) and not is_door(node.value)
    ]
    assert named == []


@pytest.mark.parametrize("for_typing", [False, True], ids=["at run time", "for typing"])
def test_no_modules_import_each_other(for_typing: bool) -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in imports():
        if for_typing or not found.for_typing:
            graph[found.module].add(found.imported)
    assert cycles(graph) == []


def test_there_is_one_http_stack() -> None:
    """docs/design/transport.md says which. NiceGUI brings others, for itself."""
    others = {"aiohttp", "httpx", "requests", "urllib3"}
    found = [
        f"{module}:{node.lineno}"
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
        if name.split(".")[0] in others
    ]
    assert found == []


# Tests

TESTS = Path(__file__).parent
# How many imports of private modules tests have. Lower it whenever a test changes to a public name.
MOST_PRIVATE = 58
# Imports of a private module, and patches of its attributes; also in the source of a program that a test starts.
PRIVATE = re.compile(
    r"""\b(?:from|import)\s+kubewright(?:\.\w+)*\._[a-z]
      | \bfrom\s+kubewright(?:\.\w+)*\s+import\s+(?:\([^)]*?|[^\n(]*?)\b_[a-z]
      | \bsetattr\(\s*["']kubewright(?:\.\w+)*\._[a-z]""",
    re.VERBOSE,
)


def lines_of_tests(*texts: str) -> Iterator[tuple[str, str, str]]:
    """Yields each line of the tests that contains one of the texts: its place, the line before it, and the line."""
    for file in sorted(TESTS.rglob("*.py")):
        before = ""
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            if any(text in line for text in texts):
                yield f"{file.relative_to(TESTS.parent)}:{number}", before, line
            before = line


def private_names() -> Iterator[tuple[str, str, str]]:
    """Yields each line where a private name is imported or patched, as `lines_of_tests` does."""
    for file in sorted({*TESTS.rglob("*.py")} - {Path(__file__)}):
        text = file.read_text()
        lines = ["", *text.splitlines()]
        for number in sorted({text.count("\n", 0, found.start()) + 1 for found in PRIVATE.finditer(text)}):
            yield f"{file.relative_to(TESTS.parent)}:{number}", lines[number - 1], lines[number]


@pytest.mark.parametrize(
    "source",
    [
        "from kubewright.queue._queue import WorkQueue",
        "import kubewright.queue._queue",
        "from kubewright.queue import WorkQueue, _queue",
        "from kubewright.queue import (\n    WorkQueue,\n    _queue,\n)",
        'monkeypatch.setattr("kubewright.queue._queue.WorkQueue", None)',
    ],
)
def test_recognizes_private_names(source: str) -> None:
    assert PRIVATE.search(source)


@pytest.mark.parametrize(
    "source",
    [
        "from kubewright.queue import WorkQueue\nfrom tests import _own",
        "from kubewright.queue import (\n    WorkQueue,\n)\n_own = 1",
        "from kubewright.queue import LOW_PRIORITY as low",
    ],
)
def test_public_names_are_not_private(source: str) -> None:
    assert not PRIVATE.search(source)


def has_reason(word: str, before: str, line: str) -> bool:
    """Whether a comment `# word: why` is on the line, or alone on the line before it."""
    return re.search(rf"# {word}: \S", line) is not None or re.match(rf"\s*# {word}: \S", before) is not None


def test_private_modules_in_tests_have_a_reason() -> None:
    """Tests use public names. Where that is impossible or much slower, `# private: why` says so."""
    found = list(private_names())
    assert [place for place, before, line in found if not has_reason("private", before, line)] == []
    imports = [line for _, _, line in found if line.lstrip().startswith(("from", "import"))]
    assert len(imports) <= MOST_PRIVATE, "use a public name instead: this number may only shrink"


# Test files over 400 lines. Split one when you add to it, and remove its name here.
LONG_FILES = {
    "cache/test_informer.py",
    "cache/test_reflector.py",
    "client/test_config.py",
    "client/test_tls.py",
    "client/test_verbs.py",
    "cluster/workloads/test_like_the_real_ones.py",
    "console/forms/test_creating.py",
    "controller/test_controller.py",
    "controller/test_endings.py",
    "controller/test_waking.py",
    "election/test_election.py",
    "http/test_server.py",
    "operator/test_context.py",
    "operator/test_running.py",
    "scaffold/test_upgrade.py",
    "webhook/test_admission.py",
    "webhook/test_server.py",
}


def test_test_files_have_at_most_400_lines() -> None:
    lengths = {str(file.relative_to(TESTS)): len(file.read_text().splitlines()) for file in TESTS.rglob("*.py")}
    assert {file for file, length in lengths.items() if length > 400} <= LONG_FILES


def released_ports(file: Path, tree: ast.Module) -> Iterator[str]:
    """Yields places where a socket is closed after its number was read: another program may take the port."""
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and all(
            isinstance(each, ast.Assign | ast.AnnAssign | ast.Return) and "getsockname" in ast.unparse(each)
            for each in node.body
        ):
            yield f"{file.relative_to(TESTS.parent)}:{node.lineno}"


def test_tests_do_not_use_ports_that_they_released() -> None:
    """A server on port 0 keeps its port. Otherwise, `unused_port` of `tests/ports.py` returns one."""
    files = [*TESTS.rglob("*.py"), *(TESTS.parent / "examples").rglob("*.py")]
    assert [place for file, tree in parsed("getsockname", files=files) for place in released_ports(file, tree)] == []


# A wait of some seconds on this machine: too long on a fast one, too short on a busy one.
REAL_SLEEP = re.compile(
    r"(?<!await )\btime\.sleep\(|\b(?:asyncio|anyio)\.sleep\((?!0\))|\bfrom (?:time|asyncio) import .*\bsleep\b"
)


# A test that waits less than a minute fails on a machine that is busy or frozen for a while.
SHORT_TIMEOUT = re.compile(
    r"\basyncio\.timeout\((?:[0-5]?\d(?:\.\d*)?)\)|\basyncio\.wait_for\(.*, [0-5]?\d(?:\.\d*)?\)"
)


def test_short_timeouts_in_tests_have_a_reason() -> None:
    """Tests wait as long as `PATIENCE`. A timeout that shall expire, or decides nothing, says so: `# real: why`."""
    found = [each for each in lines_of_tests("timeout(", "wait_for(") if SHORT_TIMEOUT.search(each[2])]
    assert [place for place, before, line in found if not has_reason("real", before, line)] == []


def test_real_sleeps_in_tests_have_a_reason() -> None:
    """Tests wait for events, use virtual time, or poll with `until`. For the rest, `# real: why` says so."""
    found = [each for each in lines_of_tests("sleep") if REAL_SLEEP.search(each[2]) and "REAL_SLEEP" not in each[2]]
    assert [place for place, before, line in found if not has_reason("real", before, line)] == []
