"""`new_webhook`: handlers of a kind that the API server asks, in a module of their own, with their tests."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kubewright.scaffold._api import kind_values, read_file
from kubewright.scaffold._conversions import alias_of, conversion_functions, conversion_test, sample_conversion_test
from kubewright.scaffold._init_module import with_import
from kubewright.scaffold._names import ScaffoldError, check_group
from kubewright.scaffold._plan import Plan, read_text
from kubewright.scaffold._record import RECORD, Kind, Record
from kubewright.scaffold._templates import filled
from kubewright.scaffold._versions import FIRST

__all__ = ["new_webhook", "webhook_plan"]


def new_webhook(
    folder: Path,
    *,
    group: str,
    version: str,
    kind: str,
    defaulting: bool = False,
    validation: bool = False,
    conversion: bool = False,
) -> Plan:
    """Webhooks for a kind of the project in a folder, beside those that it has.

    Args:
        folder: of the project.
        group: the kind's group, with or without the project's domain.
        version: the kind's version; for a conversion, the one that is stored.
        kind: the kind.
        defaulting: whether missing values are filled in.
        validation: whether objects are checked by code.
        conversion: whether objects are converted between the kind's versions, of which there must be two.
    """
    if not (defaulting or validation or conversion):
        raise ScaffoldError("say what it is for: --defaulting, --programmatic-validation, --conversion, or several")
    record = Record.read(folder)
    found = record.find_kind(check_group(group, record.domain), version, kind)
    if found is None:
        known = ", ".join(f"{one.kind} in {one.api_version}" for one in record.kinds) or "none yet"
        raise ScaffoldError(
            f"the project has no {kind} in {check_group(group, record.domain)}/{version} (there is {known}):"
            " make it first, with `kubewright create api`"
        )
    spokes = [one for one in record.kinds if (one.group, one.kind) == (found.group, kind) and one != found]
    if conversion and not spokes:
        raise ScaffoldError(
            f"{kind} has one version, {version}, and nothing to convert to: add another with `kubewright create api`"
        )
    if conversion and (other := next((one for one in spokes if "conversion" in one.webhooks), None)):
        raise ScaffoldError(
            f"{kind} is converted already, by {record.package}/{other.module}_webhook.py: one version, {other.version},"
            " is the one that all others are converted to and from"
        )
    asked = {"defaulting": defaulting, "validation": validation, "conversion": conversion}
    return webhook_plan(folder, record, found, [name for name in asked if asked[name] or name in found.webhooks])


def webhook_plan(folder: Path, record: Record, kind: Kind, webhooks: Sequence[str]) -> Plan:
    """A kind with these webhooks. Files of those that it has are replaced, as long as nobody has changed them."""
    shown = _has_example(folder, record, kind)
    files = _files(record, replace(kind, webhooks=tuple(webhooks)), example=shown)
    before = [_files(record, kind, example=example) for example in (True, False)] if kind.webhooks else []
    ours = {
        path: files.pop(path)
        for path in list(files)
        if any(path in made and read_text(folder, path) == made[path] for made in before)
    }
    init = f"{record.package}/__init__.py"
    text = with_import(read_file(folder, init), record.package, f"{kind.module}_webhook")
    known = record.with_kind(replace(kind, webhooks=tuple(webhooks)))
    return Plan(files=files, changes={**ours, RECORD: known.text(), init: text})


def _has_example(folder: Path, record: Record, kind: Kind) -> bool:
    """Whether the field that `create api` gives each spec as an example is still there, in all versions of a kind."""
    paths = [f"{record.package}/{one.module}.py" for one in _versions(record, kind)]
    return all(_has_foo(read_text(folder, path) or "", f"{kind.kind}Spec") for path in paths)


def _has_foo(text: str, spec: str) -> bool:
    try:
        classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == spec]
    except (SyntaxError, ValueError):
        return False
    fields = [node for found in classes for node in found.body if isinstance(node, ast.AnnAssign)]
    return any(ast.unparse(field) == "foo: str | None = None" for field in fields)


def _versions(record: Record, kind: Kind) -> list[Kind]:
    return [one for one in record.kinds if (one.group, one.kind) == (kind.group, kind.kind)]


def _files(record: Record, kind: Kind, *, example: bool) -> dict[str, str]:
    """The module with the webhooks of a kind, and its tests: about the field that a new spec has, or about none."""
    others = _versions(record, kind)
    spokes = [one for one in others if one.version != kind.version and "conversion" in kind.webhooks]
    further = kind.module != kind.kind.lower()  # an operator's handlers have names, each of them once
    has = {name: "yes" if name in kind.webhooks else "" for name in ("defaulting", "validation", "conversion")}
    values = {
        **kind_values(record, kind),
        **has,
        "admission": has["defaulting"] or has["validation"],
        "filling": f"fill_in_{kind.version}" if further else "fill_in",
        "rules": f"{alias_of(kind)}Rules" if further else f"{kind.kind}Rules",
        "example": "yes" if example else "",
        "tested": "".join(_tested(record, [kind, *spokes], kind, example=example)),
        "converting_tests": "".join(
            conversion_test(spoke, kind, record.scaffold) if example else sample_conversion_test(spoke, record.scaffold)
            for spoke in spokes
        ),
        "converting": "".join(conversion_functions(spoke, kind, record.scaffold) for spoke in spokes),
        "blank": has["conversion"] or has["validation"],
        "imported": "".join(_imports(record, kind, spokes, ("Spec", "Status"))).rstrip(),
        # What only the templates of the first version name:
        "test_imports": "".join(_tested(record, spokes, kind)),
        "conversion_tests": "".join(conversion_test(spoke, kind, FIRST) for spoke in spokes),
        "conversions": "".join(conversion_functions(spoke, kind, FIRST) for spoke in spokes),
        "imports": "".join(_imports(record, kind, spokes, ("Spec",))).rstrip(),
    }
    return filled("webhook", record.scaffold, values)


def _tested(record: Record, kinds: Sequence[Kind], hub: Kind, *, example: bool = True) -> list[str]:
    """The imports of these versions in a test; the hub has its own name, and a spec with the example is made there."""
    own = f"{hub.kind}, {hub.kind}Spec\n" if example else f"{hub.kind}\n"
    lines = [
        f"from {record.package}.{one.module} import " + (own if one == hub else f"{one.kind} as {alias_of(one)}\n")
        for one in kinds
    ]
    return sorted(lines, key=_module)


def _imports(record: Record, hub: Kind, spokes: Sequence[Kind], parts: Sequence[str]) -> list[str]:
    """Those of the module: the operator, and all versions with these parts of theirs."""
    kind = hub.kind
    own = ", ".join([kind, *(kind + part for part in parts)]) if spokes else kind
    lines = [f"from {record.package}.{hub.module} import {own}\n", f"from {record.package}.operator import operator\n"]
    for spoke in spokes:
        module, alias = f"{record.package}.{spoke.module}", alias_of(spoke)
        lines.append("".join(f"from {module} import {kind}{part} as {alias}{part}\n" for part in ("", *parts)))
    return sorted(lines, key=_module)


def _module(line: str) -> str:
    return line.split()[1]
