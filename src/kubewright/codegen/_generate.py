"""Generates modules from kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubewright.codegen._class_names import name_classes
from kubewright.codegen._definition import KindSource
from kubewright.codegen._docs import choose_docs
from kubewright.codegen._errors import CodegenError, WrongRequest
from kubewright.codegen._models import Walk
from kubewright.codegen._names import TAKEN, camel_case, module_name
from kubewright.codegen._render import render_module

__all__ = ["generate"]


def generate(kinds: Iterable[KindSource], *, names: Mapping[str, str] | None = None) -> dict[tuple[str, str], str]:
    """Returns the source of a module for each group version, by package and module name.

    `names` renames the classes of kinds: `{"Gateway": "IstioGateway"}`. Raises CodegenError if two definitions of a
    kind differ.
    """
    renamed = dict(names or {})
    modules: dict[tuple[str, str], tuple[str, Walk]] = {}
    unused = set(renamed)
    for name in renamed.values():
        if not name.isidentifier() or name in TAKEN:
            raise WrongRequest("--name", f"{name} is not a valid class name")
    for kind in sorted(_distinct(kinds), key=lambda each: (each.group, each.kind, each.plural)):
        unused -= {kind.kind}
        for version in sorted(kind.versions, key=lambda each: each.name):
            key = (module_name(kind.group), module_name(version.name))
            _, walk = modules.setdefault(key, (f"{kind.group}/{version.name}", Walk()))
            walk.add(kind, version, renamed.get(kind.kind) or _class_name(kind.kind))
    if unused:
        raise WrongRequest("--name", f"there is no kind {', '.join(sorted(unused))} to rename")
    return {key: _module(api_version, walk) for key, (api_version, walk) in sorted(modules.items())}


def _class_name(kind: str) -> str:
    name = camel_case(kind)
    return f"{name}Kind" if name in TAKEN else name


def _module(api_version: str, walk: Walk) -> str:
    taken: dict[str, str] = {}
    for kind in walk.kinds:
        other = taken.setdefault(kind.name, kind.source.plural)
        if other != kind.source.plural:
            raise CodegenError(
                kind.source.source,
                f"{kind.source.name} and another kind have the class name {kind.name}; rename one with --name",
            )
    name_classes(walk)
    choose_docs([*walk.models, *walk.kinds])
    return render_module(f"The types of {api_version}.", walk)


def _distinct(kinds: Iterable[KindSource]) -> list[KindSource]:
    """Returns each kind once. Several files can contain the same definition."""
    found: dict[str, KindSource] = {}
    for kind in kinds:
        first = found.setdefault(kind.name, kind)
        if first is not kind and _content(first) != _content(kind):
            raise CodegenError(kind.source, f"{kind.name} is defined differently in {first.source}; name one of them")
    return list(found.values())


def _content(kind: KindSource) -> object:
    from dataclasses import replace

    return replace(kind, source="")
