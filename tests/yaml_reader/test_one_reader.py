"""YAML is read in one place, where its bounds are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.sources import PACKAGE, parsed

WRITING = {"dump", "dump_all", "safe_dump", "safe_dump_all", "CSafeDumper", "SafeDumper", "YAMLError"}


def foreign_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Uses of PyYAML that read: every name that is not one of its writers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "yaml":
            yield node.lineno, f"from {node.module} import"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("yaml.") or (alias.name == "yaml" and alias.asname):
                    yield node.lineno, f"import {alias.name}"
        elif isinstance(node, ast.Attribute) and node.attr not in WRITING and ast.unparse(node.value) == "yaml":
            yield node.lineno, f"yaml.{node.attr}"


def test_no_other_module_reads_yaml() -> None:
    found = [
        f"{file.relative_to(PACKAGE)}:{line} uses {use}; read through kubewright.yaml"
        for file, tree in parsed("yaml")
        if file.parent != PACKAGE / "yaml"
        for line, use in foreign_uses(tree)
    ]
    assert found == []


def test_lint_finds_every_way_to_read() -> None:
    for source in (
        "import yaml\nyaml.load(text, Loader=x)",
        "import yaml\nyaml.safe_load_all(text)",
        "import yaml\nyaml.compose(text)",
        "import yaml\nyaml.CSafeLoader(text).get_single_data()",
        "from yaml import safe_load",
        "from yaml.cyaml import CParser",
        "import yaml as y",
        "import yaml.loader",
    ):
        assert list(foreign_uses(ast.parse(source))), source
