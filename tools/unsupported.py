"""Writes the table of everything that the embedded cluster refuses with status 501 into `docs/embedded-cluster.md`.

    python -m tools.unsupported            # rewrites the table
    python -m tools.unsupported --check    # fails if the table differs

The table is made from the code: the resources, subresources and paths that a running cluster refuses, and every other
call of `unsupported` in `src/kubewright/cluster`.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kubewright.cluster import Cluster
from kubewright.cluster.machinery._unsupported import REFUSED_PAGES, REFUSED_SUBRESOURCES, REFUSED_WRITES

__all__ = ["main", "page_with_table", "table"]

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "embedded-cluster.md"
BEGIN: Final = "<!-- begin: python -m tools.unsupported -->\n"
END: Final = "<!-- end -->\n"
_SOURCE: Final = ROOT / "src" / "kubewright" / "cluster"
_TABLES: Final = "_unsupported.py"


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrites the table, or with `--check` compares it. Returns 1 if it differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.unsupported", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table would change")
    check: bool = parser.parse_args(arguments).check
    page = PAGE.read_text()
    wanted = page_with_table(page, asyncio.run(table()))
    if page == wanted:
        return 0
    if check:
        print(f"{PAGE.relative_to(ROOT)}: the table of refused requests is out of date", file=sys.stderr)
        print("to rewrite it, run: python -m tools.unsupported", file=sys.stderr)
        return 1
    PAGE.write_text(wanted)
    return 0


def page_with_table(page: str, rows: str) -> str:
    """Returns a page with a new table between its two marks. Raises ValueError if it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no marks {BEGIN.strip()!r} and {END.strip()!r}")
    return f"{before}{BEGIN}\n{rows}\n{END}{after}"


async def table() -> str:
    """Returns the table in Markdown."""
    rows = [*(await _resources()), *_pages(), *_others()]
    return "\n".join(["| request | the embedded cluster does not support |", "|---|---|", *map(_row, rows)]) + "\n"


def _row(row: tuple[str, str]) -> str:
    return f"| {row[0]} | {row[1].replace('|', chr(92) + '|')} |"


async def _resources() -> list[tuple[str, str]]:
    """Returns the resources and subresources that a cluster with all features refuses."""
    async with Cluster(rbac=True) as cluster:
        supported = cluster.dispatcher.supported
        types = sorted(cluster.state.types, key=lambda type_: type_.qualified)
    writes: dict[str, str] = {}
    subresources: dict[str, list[str]] = {}
    for type_ in types:
        if type_.qualified in REFUSED_WRITES and type_.qualified not in supported:
            writes[type_.qualified] = REFUSED_WRITES[type_.qualified]
        for name in type_.subresources:
            if name in REFUSED_SUBRESOURCES and f"{type_.qualified}/{name}" not in supported:
                known = subresources.setdefault(name, [])
                if type_.qualified not in known:
                    known.append(type_.qualified)
    return [
        *((f"writes of `{name}`", reason) for name, reason in writes.items()),
        *(
            (", ".join(f"`{resource}/{name}`" for resource in resources), REFUSED_SUBRESOURCES[name])
            for name, resources in sorted(subresources.items())
        ),
    ]


def _pages() -> Iterator[tuple[str, str]]:
    for path, reason in REFUSED_PAGES.items():
        yield f"`{path}`" + (" of a cluster that is not served on a port" if path == "/metrics" else ""), reason


def _others() -> list[tuple[str, str]]:
    """Returns the messages in all other calls of `unsupported`, each with the folder that refuses."""
    found: dict[str, str] = {}
    for file in sorted(_SOURCE.rglob("*.py")):
        if file.name == _TABLES:
            continue
        source = file.read_text()
        if "unsupported(" not in source:  # parsing all of them takes seconds
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "unsupported":
                message = _message(node.args[0])
                if message:
                    found[message] = file.relative_to(_SOURCE).parts[0]
    return [(f"`{folder}`", message) for message, folder in sorted(found.items(), key=lambda each: each[::-1])]


def _message(argument: ast.expr) -> str:
    """Returns a literal message, with `…` for values; empty for a variable."""
    if isinstance(argument, ast.Constant):
        return str(argument.value)
    if isinstance(argument, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in argument.values)
    return ""


if __name__ == "__main__":
    sys.exit(main())
