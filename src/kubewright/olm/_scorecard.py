"""The tests of the scorecard's suites `basic` and `olm` that need a bundle and no cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kubewright.olm._problems import Problem, problem
from kubewright.olm._read import Bundle

__all__ = ["check_scorecard"]


def check_scorecard(bundle: Bundle) -> Iterator[Problem]:
    """Returns the problems for which the scorecard's tests fail. Each is named after its test."""
    owned = (bundle.spec.get("customresourcedefinitions") or {}).get("owned") or []
    examples = _examples(bundle)
    yield from _specs(bundle, examples)
    yield from _validation(bundle)
    for one in owned:
        where = f"spec.customresourcedefinitions.owned[{one.get('name')}/{one.get('version')}]"
        if not one.get("resources"):
            yield _scorecard_problem(
                bundle,
                "olm-crds-have-resources",
                f"{where}.resources",
                f"no kinds are listed that are created for a {one.get('kind')}",
                "list the kinds that the operator creates, such as Deployment of v1",
            )
        yield from _described(bundle, one, where, examples)


def _scorecard_problem(bundle: Bundle, test: str, field: str, message: str, advice: str) -> Problem:
    return problem("error", bundle.csv_path, message, advice, field=field, check=test)


def _examples(bundle: Bundle) -> list[Mapping[str, Any]]:
    texts = (bundle.csv.get("metadata") or {}).get("annotations") or {}
    try:
        shown = json.loads(texts.get("alm-examples") or "[]")
    except ValueError:
        return []
    return [one for one in shown if isinstance(one, Mapping)] if isinstance(shown, list) else []


def _specs(bundle: Bundle, examples: list[Mapping[str, Any]]) -> Iterator[Problem]:
    field = "metadata.annotations[alm-examples]"
    if not examples:
        yield _scorecard_problem(bundle, "basic-check-spec", field, "there are no examples", "add one for each kind")
    for one in examples:
        if "spec" not in one:
            what = f"{one.get('kind')} {(one.get('metadata') or {}).get('name')}"
            yield _scorecard_problem(bundle, "basic-check-spec", field, f"{what} has no spec", "give it one")


def _validation(bundle: Bundle) -> Iterator[Problem]:
    for path, definition in bundle.of_kind("CustomResourceDefinition"):
        for version in (definition.get("spec") or {}).get("versions") or []:
            schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            if not schema.get("properties"):
                yield problem(
                    "error",
                    path,
                    f"{version.get('name')} has no schema with properties",
                    "describe the fields",
                    field=f"spec.versions[{version.get('name')}].schema",
                    check="olm-crds-have-validation",
                )


def _described(
    bundle: Bundle, owned: Mapping[str, Any], where: str, examples: list[Mapping[str, Any]]
) -> Iterator[Problem]:
    group = (owned.get("name") or "").partition(".")[2]
    for part in ("spec", "status"):
        # The examples show which fields of the spec are used; for the status there is only the schema.
        fields = _status_fields(bundle, group, owned) if part == "status" else _used(examples, group, owned)
        paths = [one.get("path") or "" for one in owned.get(f"{part}Descriptors") or []]
        for name in sorted(fields):
            if not any(path == name or path.startswith((f"{name}.", f"{name}[")) for path in paths):
                yield _scorecard_problem(
                    bundle,
                    f"olm-{part}-descriptors",
                    f"{where}.{part}Descriptors",
                    f"{name} has no descriptor",
                    f"add a descriptor with the path {name}",
                )


def _used(examples: list[Mapping[str, Any]], group: str, owned: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for one in examples:
        same = one.get("apiVersion") == f"{group}/{owned.get('version')}" and one.get("kind") == owned.get("kind")
        if same and isinstance(one.get("spec"), Mapping):
            found |= set(one["spec"])
    return found


def _status_fields(bundle: Bundle, group: str, owned: Mapping[str, Any]) -> set[str]:
    for _, definition in bundle.of_kind("CustomResourceDefinition"):
        spec = definition.get("spec") or {}
        if spec.get("group") != group or (spec.get("names") or {}).get("kind") != owned.get("kind"):
            continue
        for version in spec.get("versions") or []:
            if version.get("name") == owned.get("version"):
                schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
                return set(((schema.get("properties") or {}).get("status") or {}).get("properties") or {})
    return set()
