"""`new_api`: a kind with its module, reconciler, tests and sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kubewright.api.kinds import pluralize
from kubewright.scaffold._builtin_kinds import find_builtin_kind
from kubewright.scaffold._init_module import with_import
from kubewright.scaffold._names import ScaffoldError, check_group, check_kind, check_version
from kubewright.scaffold._plan import Plan
from kubewright.scaffold._record import RECORD, Kind, Record
from kubewright.scaffold._templates import filled

__all__ = ["kind_values", "new_api", "read_file"]

_LONGEST_NOUN: Final = 30
"""The longest kind whose name is used in parameters and sentences, which must fit into a line."""


def new_api(
    folder: Path,
    *,
    group: str,
    version: str,
    kind: str,
    namespaced: bool = True,
    controller: bool = True,
    owns: Sequence[str] = (),
) -> Plan:
    """Returns the plan that adds a kind to a project, or a version to an existing kind.

    Args:
        folder: the folder of the project.
        group: the group, with or without the project's domain.
        version: such as v1alpha1.
        kind: in CamelCase.
        namespaced: whether its objects are namespaced.
        controller: whether it gets a reconciler. Another version of a kind never does: objects are reconciled in the
            stored version.
        owns: built-in kinds that the reconciler creates, such as Deployment; requires a reconciler.
    """
    record = Record.read(folder)
    whole = check_group(group, record.domain)
    check_version(version)
    check_kind(kind)
    versions = [one for one in record.kinds if (one.group, one.kind) == (whole, kind) and one.version != version]
    same = record.find_kind(whole, version, kind)
    if same is None:
        _refuse_another_scope(versions, namespaced=namespaced)
    # The first version keeps the module with the kind's plain name, even if it is created again.
    first = same is not None and same.module == kind.lower()
    others = [] if first else versions
    module = f"{kind.lower()}_{version}" if others else kind.lower()
    if same:
        module = same.module
    elif clash := next((one for one in record.kinds if one.module == module), None):
        raise ScaffoldError(f"{clash.kind} in {clash.api_version} already has the module {module}.py")
    owned = sorted({find_builtin_kind(name) for name in owns})
    if owned and (others or not controller):
        raise ScaffoldError(_owns_without_reconciler(record, kind, version, ", ".join(map(str, owned)), others))
    added = Kind(
        whole,
        version,
        kind,
        module,
        namespaced=namespaced,
        controller=controller and not others,
        owns=tuple(map(str, owned)),
        webhooks=same.webhooks if same else (),
    )
    values = kind_values(record, added)
    values |= {
        "controller": "yes" if added.controller else "",
        # Another version has the same status as the reconciled one, so that it can be converted in both directions.
        "like_reconciled": "yes" if any(one.controller for one in others) else "",
        "neither": "" if added.controller or any(one.controller for one in others) else "yes",
        "owns_argument": f", owns=[{', '.join(map(str, owned))}]" if owned else "",
        "resource": _decorator(added, stored=first if versions else None),
        "first_module": others[0].module if others else "",
        "owned_groups": ", ".join(sorted({one.group for one in owned} | {"meta"})),
        "further": "yes" if others else "",
        # All versions of a kind share their objects, so the samples of two versions need different names.
        "sample_name": f"{values['sample']}-{version}" if others else values["sample"],
    }
    files = filled("api", record.scaffold, values)
    init = f"{record.package}/__init__.py"
    alias = f"{kind}{version.capitalize()}" if others else ""
    imported = with_import(read_file(folder, init), f"{record.package}.{module}", kind, alias)
    changes = {RECORD: record.with_kind(added).text(), init: imported}
    if others:
        changes |= _storing(folder, record, others)
    return Plan(files=files, changes=changes)


def _refuse_another_scope(versions: Sequence[Kind], *, namespaced: bool) -> None:
    """Raises `ScaffoldError` for another scope: all versions of a kind are in one definition."""
    other = next((one for one in versions if one.namespaced != namespaced), None)
    if other is None:
        return
    scope, option = ("namespaced", "--namespaced") if other.namespaced else ("cluster-scoped", "--cluster")
    raise ScaffoldError(
        f"{other.kind} is {scope} in {other.version}, and all versions of a kind have one scope: use {option}"
    )


def _owns_without_reconciler(record: Record, kind: str, version: str, owned: str, others: Sequence[Kind]) -> str:
    """Returns the error for `--owns` without a reconciler, with the fix."""
    problem = f"--owns requires a reconciler, and {kind} in {version} gets none"
    reconciled = next((one for one in others if one.controller), None)
    if reconciled is None:
        return f"{problem}: leave it out"
    return (
        f"{problem}: all objects are reconciled as {reconciled.version}. Add owns=[{owned}] to"
        f" @operator.reconciles({kind}) in {record.package}/{reconciled.module}.py"
    )


def _decorator(kind: Kind, *, stored: bool | None) -> str:
    """Returns the decorator of the class. `stored` is None if the kind has only this version."""
    arguments = [f'"{kind.api_version}"']
    arguments += ["storage=True"] if stored else []  # where `_storing` puts it
    arguments += [] if kind.namespaced else ['scope="Cluster"']
    arguments += ["storage=False"] if stored is False else []
    return f"@kw.resource({', '.join(arguments)})"


def kind_values(record: Record, kind: Kind) -> dict[str, str]:
    """Returns the values of a kind for templates."""
    plural = pluralize(kind.kind.lower())
    return {
        "name": record.name,
        "package": record.package,
        "group": kind.group,
        "version": kind.version,
        "api_version": kind.api_version,
        "kind": kind.kind,
        "variable": kind.kind.lower(),
        "parameter": "obj" if len(kind.kind) > _LONGEST_NOUN else kind.kind.lower(),
        "noun": "object" if len(kind.kind) > _LONGEST_NOUN else kind.kind,
        "module": kind.module,
        "plural": plural,
        "short_group": kind.group.removesuffix(record.domain).rstrip(".") or kind.group,
        "namespaced": "yes" if kind.namespaced else "",
        "sample": f"{kind.kind.lower()}-sample",
    }


def read_file(folder: Path, path: str) -> str:
    """Returns the content of a file that every project has."""
    try:
        return (folder / path).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise ScaffoldError(f"there is no {path} in this project, which `kubewright init` creates") from None


def _storing(folder: Path, record: Record, others: Sequence[Kind]) -> dict[str, str]:
    """Marks the stored version, which is required as soon as a kind has several."""
    texts = {
        f"{record.package}/{one.module}.py": (one, read_file(folder, f"{record.package}/{one.module}.py"))
        for one in others
    }
    if any("storage=True" in text for _, text in texts.values()):
        return {}
    path, (first, text) = next(iter(texts.items()))
    decorator = f'@kw.resource("{first.api_version}"'
    if text.count(decorator) != 1:
        raise ScaffoldError(f"one version of {first.kind} needs storage=True: add it to its @kw.resource in {path}")
    return {path: text.replace(decorator, f"{decorator}, storage=True")}
