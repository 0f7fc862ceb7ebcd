"""Catalogs: what is in them, and upgrade graphs that a cluster can follow."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubewright.olm import Bundle, BundleError, Catalog, Installation, catalog_dockerfile, prepare
from kubewright.olm._graph import Entry, check_channel
from kubewright.yaml import load_yaml_documents
from tests.olm.projects import LISTING, plain


def bundle(folder: Path, version: str, replaces: str = "", **listing: Any) -> Bundle:
    made = folder / version / "bundle"
    made.parent.mkdir(parents=True)
    listed = replace(LISTING, replaces=f"shelf-operator.v{replaces}" if replaces else "", **listing)
    prepare(made, plain(version=version), listed).write()
    return Bundle.read(made)


def by_schema(catalog: Catalog, schema: str) -> list[dict[str, Any]]:
    return [dict(one) for one in catalog.documents if one["schema"] == schema]


def test_a_package_its_channels_and_its_bundles(tmp_path: Path) -> None:
    old, new = bundle(tmp_path, "1.9.0"), bundle(tmp_path, "1.10.0", "1.9.0", channels=["fast"], default_channel="fast")
    catalog = Catalog.of([new, old], lambda one: f"registry.example.com/shelf-bundle:v{one.version}")
    [package] = by_schema(catalog, "olm.package")
    assert (package["name"], package["defaultChannel"]) == ("shelf-operator", "fast")  # the newest one decides
    assert package["icon"] == {"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}
    channels = {one["name"]: one["entries"] for one in by_schema(catalog, "olm.channel")}
    assert channels == {
        "fast": [
            {"name": "shelf-operator.v1.9.0"},
            {"name": "shelf-operator.v1.10.0", "replaces": "shelf-operator.v1.9.0"},
        ],
        "stable": [{"name": "shelf-operator.v1.9.0"}],
    }
    images = [one["image"] for one in by_schema(catalog, "olm.bundle")]
    assert images == [f"registry.example.com/shelf-bundle:v1.{number}.0" for number in (9, 10)]
    properties = by_schema(catalog, "olm.bundle")[0]["properties"]
    assert {"type": "olm.package", "value": {"packageName": "shelf-operator", "version": "1.9.0"}} in properties
    assert {
        "type": "olm.gvk",
        "value": {"group": "olmtest.example.com", "kind": "Shelf", "version": "v1"},
    } in properties
    [metadata] = [one["value"] for one in properties if one["type"] == "olm.csv.metadata"]
    assert metadata["displayName"] == "Shelf Operator"
    assert [one["kind"] for one in metadata["crdDescriptions"]["owned"]] == ["Book", "Shelf"]
    assert load_yaml_documents(catalog.text()) == list(catalog.documents)
    assert catalog.file().path == "shelf-operator/catalog.yaml"


def test_without_an_image_the_whole_bundle_is_in_the_catalog(tmp_path: Path) -> None:
    made = bundle(tmp_path, "1.0.0")
    [described] = by_schema(Catalog.of([made]), "olm.bundle")
    assert "image" not in described
    carried = [one["value"]["data"] for one in described["properties"] if one["type"] == "olm.bundle.object"]
    objects = [json.loads(base64.b64decode(data)) for data in carried]
    assert sorted(one["kind"] for one in objects) == sorted(one["kind"] for one in made.manifests.values())


def test_dependencies_and_properties_of_the_bundle_are_in_the_catalog(tmp_path: Path) -> None:
    made = bundle(tmp_path, "1.0.0")
    (made.folder / "metadata/dependencies.yaml").write_text(
        "dependencies:\n- {type: olm.package, value: {packageName: other, version: '>1.0.0'}}\n"
        "- {type: olm.gvk, value: {group: g, kind: K, version: v1}}\n"
    )
    (made.folder / "metadata/properties.yaml").write_text("properties:\n- {type: mine, value: 3}\n")
    properties = by_schema(Catalog.of([Bundle.read(made.folder)]), "olm.bundle")[0]["properties"]
    assert {
        "type": "olm.package.required",
        "value": {"packageName": "other", "versionRange": ">1.0.0"},
    } in properties
    assert {"type": "olm.gvk.required", "value": {"group": "g", "kind": "K", "version": "v1"}} in properties
    assert {"type": "mine", "value": 3} in properties


def said(*entries: Entry) -> list[str]:
    return [f"{level}: {text}" for level, text in check_channel("stable", entries)]


def chain(*names: str) -> list[Entry]:
    return [Entry(name=name, replaces=before) for before, name in zip(("", *names), names, strict=False)]


def test_a_chain_of_versions_is_fine() -> None:
    assert said(*chain("a", "b", "c")) == []
    assert said(Entry(name="c", replaces="a", skips=["b"]), Entry(name="b", replaces="a"), Entry(name="a")) == []
    assert said(Entry(name="a", skip_range=">=1.0.0 <1.2.0-0 || 2.x")) == []


@pytest.mark.promise("Packages for OLM", "An upgrade graph that a cluster cannot follow is refused.")
@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([Entry(name="a"), Entry(name="b")], "error: channel stable must have one newest version"),
        ([Entry(name="a", replaces="b"), Entry(name="b", replaces="a")], "in a cycle: a -> b -> a"),
        (
            [Entry(name="d", replaces="a"), *chain("a", "b", "c")[1:], Entry(name="a", replaces="c")],
            "in a cycle: a -> c -> b -> a",
        ),
        (
            [Entry(name="c", skips=["b"]), Entry(name="b", replaces="a"), Entry(name="a")],
            "there is no upgrade from a to c",
        ),
        ([Entry(name="b", replaces="a")], "warning: channel stable: b replaces a, which is not among the bundles"),
        ([Entry(name="a", replaces="a")], "error: a replaces or skips itself"),
        ([Entry(name="a", skip_range="everything")], "error: a: skipRange 'everything' is not a range"),
    ],
)
def test_a_graph_that_a_cluster_cannot_follow_is_reported(entries: list[Entry], told: str) -> None:
    assert any(told in text for text in said(*entries)), said(*entries)


@pytest.mark.promise("Packages for OLM", "An upgrade graph that a cluster cannot follow is refused.")
def test_bundles_that_do_not_belong_together_are_rejected(tmp_path: Path) -> None:
    first = bundle(tmp_path / "a", "1.0.0")
    with pytest.raises(BundleError, match="must have one newest version"):
        Catalog.of([first, bundle(tmp_path / "b", "1.1.0")])
    with pytest.raises(BundleError, match=r"are both version 1\.0\.0"):
        Catalog.of([first, bundle(tmp_path / "c", "1.0.0")])
    with pytest.raises(BundleError, match="at least one bundle"):
        Catalog.of([])
    with pytest.raises(BundleError, match="has no name, no package"):
        Catalog.of([Bundle.read(tmp_path)])


def test_a_version_whose_predecessor_is_not_there_is_a_warning(tmp_path: Path) -> None:
    [told] = Catalog.of([bundle(tmp_path, "1.1.0", "1.0.0", channels=["stable"])]).warnings
    assert told == (
        "channel stable: shelf-operator.v1.1.0 replaces shelf-operator.v1.0.0, which is not among the bundles"
    )


def test_the_image_of_a_catalog_serves_its_folder() -> None:
    text = catalog_dockerfile("catalog").text
    assert "ADD catalog /configs\n" in text
    assert "LABEL operators.operatorframework.io.index.configs.v1=/configs\n" in text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"install_mode": "SingleNamespace"}, "SingleNamespace requires the namespaces"),
        ({"channel": "slow"}, "is not in the channel 'slow'"),
    ],
)
def test_an_installation_that_cannot_be_is_rejected(given: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=told):
        Installation(bundle=bundle(tmp_path, "1.0.0"), namespace="here", **given)


def test_the_widest_install_mode_is_taken_unless_namespaces_are_named(tmp_path: Path) -> None:
    made = bundle(tmp_path, "1.0.0")

    def mode(*targets: str) -> tuple[str, list[str] | None]:
        installation = Installation(bundle=made, namespace="here", targets=targets)
        return installation.install_mode, installation.target_namespaces()

    assert mode() == ("AllNamespaces", None)
    assert mode("here") == ("OwnNamespace", ["here"])
    assert mode("there") == ("SingleNamespace", ["there"])
    assert mode("there", "here") == ("MultiNamespace", ["here", "there"])
