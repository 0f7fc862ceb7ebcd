"""Round trips of Kubernetes' own golden files, from the Go module `k8s.io/api`.

Its folder `testdata/HEAD` has one JSON object for each kind, with every field set. A file is left out when the OpenAPI
document of Kubernetes has no definition of its kind: kinds that are no longer served, and those that are options in a
URL rather than JSON.
"""

import copy
import importlib
import json
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubewright.api import Model, Object, apps, decode, encode, events, info_of, policy
from kubewright.api.wire import dec_hook
from kubewright.testing import KUBERNETES_VERSION
from kubewright.testing.binaries import download_module

GroupVersionKind = tuple[str, str, str]


@cache
def definitions() -> dict[GroupVersionKind, str]:
    """Returns the name of the definition of each kind, read from the document independently of the generator."""
    folder = download_module("k8s.io/kubernetes", f"v{KUBERNETES_VERSION}")
    document = json.loads((folder / "api/openapi-spec/swagger.json").read_bytes())
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, definition in document["definitions"].items()
        for kind in definition.get("x-kubernetes-group-version-kind", [])
        if "items" not in definition["properties"]  # lists are not classes
    }


@cache
def goldens() -> dict[GroupVersionKind, Path]:
    """Returns the golden files by the kind in their names. `core.v1.WatchEvent.json` does not contain its kind."""
    folder = download_module("k8s.io/api", "v0." + KUBERNETES_VERSION.partition(".")[2])
    found = {}
    for path in (folder / "testdata" / "HEAD").glob("*.json"):
        group, version, kind = path.stem.rsplit(".", 2)
        found["" if group == "core" else group, version, kind] = path
    return found


def class_of(definition: str) -> type[Model]:
    package, version, name = definition.split(".")[-3:]
    found: type[Model] = getattr(importlib.import_module(f"kubewright.api.{package}.{version}"), name)
    return found


def checked() -> list[tuple[type[Model], bytes]]:
    known = definitions()
    return [(class_of(known[kind]), path.read_bytes()) for kind, path in sorted(goldens().items()) if kind in known]


def differing(a: Any, b: Any, path: str = "") -> list[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        keys = sorted(a.keys() | b.keys())
        return [line for key in keys for line in differing(a.get(key, ...), b.get(key, ...), f"{path}.{key}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [line for i, (x, y) in enumerate(zip(a, b, strict=True)) for line in differing(x, y, f"{path}[{i}]")]
    return [] if a == b and type(a) is type(b) else [f"{path}: {a!r} became {b!r}"]


@pytest.mark.promise("Typed objects", "Every golden object of Kubernetes comes back equal.")
def test_golden_objects_round_trip() -> None:
    objects = checked()
    problems = {}
    for kind, raw in objects:
        if lines := differing(json.loads(raw), json.loads(encode(decode(kind, raw)))):
            problems[kind.__module__, kind.__name__] = lines
    assert problems == {}
    # All 185 files are accounted for. Without this, a change of the module's layout could make the test check nothing.
    assert (len(goldens()), len(objects)) == (185, 101)


def test_golden_objects_decode_without_repair() -> None:
    """The decoder adds Go's zero values only after a failure. A failure here could hide a wrong type."""
    for kind, raw in checked():
        msgspec.json.decode(raw, type=kind, dec_hook=dec_hook)


def test_every_kind_has_a_golden_object() -> None:
    without = {kind for kind in definitions().keys() - goldens().keys() if not kind[2].endswith(("List", "Options"))}
    # The module k8s.io/api does not define these two; DeleteOptions and WatchEvent exist once for each group.
    assert {kind for kind in without if kind[2] != "WatchEvent"} == {
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "v1", "APIService"),
    }


def pickled(made: Model) -> Model:
    again: Model = pickle.loads(pickle.dumps(made))
    return again


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_of_golden_objects_are_encoded_alike(copied: Callable[[Model], Model]) -> None:
    for kind, raw in checked():
        assert json.loads(encode(copied(decode(kind, raw)))) == json.loads(raw)


def test_every_kind_decodes_with_only_a_name() -> None:
    kinds = [kind for name in definitions().values() if issubclass(kind := class_of(name), Object)]
    for kind in kinds:
        made = decode(kind, b'{"metadata": {"name": "a"}}')
        assert (made.api_version, made.kind, made.metadata.name) == (
            info_of(kind).api_version,
            info_of(kind).kind,
            "a",
        )
    assert len(kinds) == 98


def test_every_kind_decodes_with_null_for_every_field() -> None:
    for name in definitions().values():
        kind = class_of(name)
        nulls = dict.fromkeys(kind.__struct_encode_fields__)
        if issubclass(kind, Object):
            nulls |= {"apiVersion": info_of(kind).api_version, "kind": info_of(kind).kind}
        assert isinstance(decode(kind, json.dumps(nulls).encode()), kind)


def test_a_claim_template_keeps_its_kind_and_does_not_gain_one() -> None:
    def template(names: dict[str, str]) -> bytes:
        claim: Any = {**names, "metadata": {"name": "data"}, "spec": {}, "status": {}}
        spec = {"selector": {}, "template": {"spec": {"containers": []}}, "volumeClaimTemplates": [claim]}
        return json.dumps({"metadata": {"name": "db"}, "spec": spec}).encode()

    for names in {}, {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}:
        made = decode(apps.StatefulSet, template(names))
        assert made.kind == "StatefulSet"
        for each in made, copy.deepcopy(made):
            encoded = json.loads(encode(each))["spec"]["volumeClaimTemplates"][0]
            assert {key: encoded[key] for key in encoded if key in ("apiVersion", "kind")} == names


def test_a_time_that_go_left_unset_is_none() -> None:
    event = decode(events.Event, b'{"metadata": {"name": "e"}, "eventTime": null}')
    assert event.event_time is None
    budget = decode(policy.PodDisruptionBudget, b'{"status": {"disruptedPods": {"a": null}}}')
    assert budget.status is not None
    assert budget.status.disrupted_pods == {"a": None}
