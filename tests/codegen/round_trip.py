"""From a definition to classes and back."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from kubewright.api import Object, to_dict
from kubewright.codegen import KindSource, generate, normal_schema, read_definition
from kubewright.crd import crd_of

_numbers = itertools.count()


def definition(schema: dict[str, Any] | None = None, **version: Any) -> dict[str, Any]:
    """A CustomResourceDefinition for Thing of example.com/v1."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or {}}} | version
            ],
        },
    }


def thing(spec: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """The schema of a kind with this spec."""
    return {"type": "object", "properties": {"spec": spec} | rest}


def load(text: str, folder: Path) -> ModuleType:
    """The module with this text; a file, because descriptions are read from files."""
    name = f"generated_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # which is where descriptions look for the file
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        error.add_note(text)
        raise
    return module


def classes_of(modules: Iterable[ModuleType]) -> dict[tuple[str, str, str], type[Object]]:
    """The kinds in some modules, by group, version and kind."""
    found: dict[tuple[str, str, str], type[Object]] = {}
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Object) and "__resource__" in vars(value):
                info = value.__resource__
                found[info.group, info.version, info.kind] = value
    return found


def made_of(document: dict[str, Any], folder: Path, *, descriptions: bool = True) -> tuple[KindSource, type[Object]]:
    """What was read, and the class that was generated for its only version."""
    kind = read_definition(document, "test", descriptions=descriptions)
    modules = [load(text, folder) for text in generate([kind]).values()]
    (made,) = classes_of(modules).values()
    return kind, made


def differences(kind: KindSource, classes: Iterable[type[Object]], *, descriptions: bool = True) -> list[str]:
    """Where the definition that the classes make is not the one that they were made from."""
    made = to_dict(crd_of(*classes, descriptions=descriptions))["spec"]
    names = made["names"]
    found = [
        f"{what}: {expected!r} became {actual!r}"
        for what, expected, actual in (
            ("group", kind.group, made["group"]),
            ("kind", kind.kind, names["kind"]),
            ("plural", kind.plural, names["plural"]),
            ("singular", kind.singular, names["singular"]),
            ("listKind", kind.list_kind, names["listKind"]),
            ("shortNames", list(kind.short_names), names.get("shortNames", [])),
            ("categories", list(kind.categories), names.get("categories", [])),
            ("scope", "Namespaced" if kind.namespaced else "Cluster", made["scope"]),
        )
        if expected != actual
    ]
    versions = {version["name"]: version for version in made["versions"]}
    for version in kind.versions:
        there = versions[version.name]
        schema = normal_schema(there["schema"]["openAPIV3Schema"], descriptions=descriptions)
        found += _differences(version.schema, schema, version.name)
        subresources = there.get("subresources", {})
        deprecated = there.get("deprecationWarning") or there.get("deprecated", False)
        for what, expected, actual in (
            ("columns", list(version.columns), there.get("additionalPrinterColumns", [])),
            ("selectable", list(version.selectable_fields), [f["jsonPath"] for f in there.get("selectableFields", [])]),
            ("status", version.has_status, "status" in subresources),
            ("scale", version.scale, subresources.get("scale")),
            ("served", version.served, there["served"]),
            ("storage", version.storage, there["storage"]),
            ("deprecated", version.deprecated, deprecated),
        ):
            if expected != actual:
                found.append(f"{version.name} {what}: {expected!r} became {actual!r}")
    return found


def _differences(expected: Any, actual: Any, path: str) -> list[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [
            line
            for name in sorted(expected.keys() | actual.keys())
            for line in _differences(expected.get(name, "(absent)"), actual.get(name, "(absent)"), f"{path}.{name}")
        ]
    return [] if expected == actual else [f"{path}: {expected!r} became {actual!r}"]
