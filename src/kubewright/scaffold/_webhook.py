"""`new_webhook`: webhook handlers of a kind, with their tests."""

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
    """Returns the plan that adds webhooks to a kind of a project.

    Args:
        folder: the folder of the project.
        group: the kind's group, with or without the project's domain.
        version: the kind's version; for a conversion, the stored one.
        kind: the kind.
        defaulting: whether to set default values.
        validation: whether to validate objects by code.
        conversion: whether to convert objects between the kind's versions; requires two.
    """
    if not (defaulting or validation or conversion):
        raise ScaffoldError("name the webhooks: --defaulting, --programmatic-validation, --conversion, or several")
    record = Record.read(folder)
    found = record.find_kind(check_group(group, record.domain), version, kind)
    if found is None:
        known = ", ".join(f"{one.kind} in {one.api_version}" for one in record.kinds) or "none yet"
        raise ScaffoldError(
            f"the project has no {kind} in {check_group(group, record.domain)}/{version} (there is {known}): create"
            " it first with `kubewright create api`"
        )
    spokes = [one for one in record.kinds if (one.group, one.kind) == (found.group, kind) and one != found]
    if conversion and not spokes:
        raise ScaffoldError(
            f"{kind} has one version, {version}, and nothing to convert to: add another with `kubewright create api`"
        )
    if conversion and (other := next((one for one in spokes if "conversion" in one.webhooks), None)):
        raise ScaffoldError(
            f"{kind} already has a conversion in {record.package}/{other.module}_webhook.py: all versions are"
            f" converted to and from one version, {other.version}"
        )
    asked = {"defaulting": defaulting, "validation": validation, "conversion": conversion}
    return webhook_plan(folder, record, found, [name for name in asked if asked[name] or name in found.webhooks])


def webhook_plan(folder: Path, record: Record, kind: Kind, webhooks: Sequence[str]) -> Plan:
    """Returns the plan for a kind with these webhooks. Existing files are replaced if the user has not changed them."""
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
    """Whether all versions of a kind still have the example field of `create api`."""
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
    """Returns the module of a kind's webhooks and its tests, with or without the example field."""
    others = _versions(record, kind)
    spokes = [one for one in others if one.version != kind.version and "conversion" in kind.webhooks]
    further = kind.module != kind.kind.lower()  # handlers of an operator need unique names
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
        # Only for templates of the first version:
        "test_imports": "".join(_tested(record, spokes, kind)),
        "conversion_tests": "".join(conversion_test(spoke, kind, FIRST) for spoke in spokes),
        "conversions": "".join(conversion_functions(spoke, kind, FIRST) for spoke in spokes),
        "imports": "".join(_imports(record, kind, spokes, ("Spec",))).rstrip(),
    }
    return filled("webhook", record.scaffold, values)


def _tested(record: Record, kinds: Sequence[Kind], hub: Kind, *, example: bool = True) -> list[str]:
    """Returns the imports of a test."""
    own = f"{hub.kind}, {hub.kind}Spec\n" if example else f"{hub.kind}\n"
    lines = [
        f"from {record.package}.{one.module} import " + (own if one == hub else f"{one.kind} as {alias_of(one)}\n")
        for one in kinds
    ]
    return sorted(lines, key=_module)


def _imports(record: Record, hub: Kind, spokes: Sequence[Kind], parts: Sequence[str]) -> list[str]:
    """Returns the imports of the module: the operator, and all versions with these parts."""
    kind = hub.kind
    own = ", ".join([kind, *(kind + part for part in parts)]) if spokes else kind
    lines = [f"from {record.package}.{hub.module} import {own}\n", f"from {record.package}.operator import operator\n"]
    for spoke in spokes:
        module, alias = f"{record.package}.{spoke.module}", alias_of(spoke)
        lines.append("".join(f"from {module} import {kind}{part} as {alias}{part}\n" for part in ("", *parts)))
    return sorted(lines, key=_module)


def _module(line: str) -> str:
    return line.split()[1]
