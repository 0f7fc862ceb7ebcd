"""Catalogs: their content, and upgrade graphs that a cluster can follow."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubewright.olm import Bundle, BundleError, Catalog, Installation, catalog_dockerfile, prepare

# private: a table of upgrade graphs, without a bundle for each entry
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


def test_a_catalog_has_a_package_channels_and_bundles(tmp_path: Path) -> None:
    old, new = bundle(tmp_path, "1.9.0"), bundle(tmp_path, "1.10.0", "1.9.0", channels=["fast"], default_channel="fast")
    catalog = Catalog.of([new, old], lambda one: f"registry.example.com/shelf-bundle:v{one.version}")
    [package] = by_schema(catalog, "olm.package")
    assert (package["name"], package["defaultChannel"]) == ("shelf-operator", "fast")  # of the newest version
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


def test_without_an_image_the_catalog_contains_the_bundle(tmp_path: Path) -> None:
    made = bundle(tmp_path, "1.0.0")
    [described] = by_schema(Catalog.of([made]), "olm.bundle")
    assert "image" not in described
    carried = [one["value"]["data"] for one in described["properties"] if one["type"] == "olm.bundle.object"]
    objects = [json.loads(base64.b64decode(data)) for data in carried]
    assert sorted(one["kind"] for one in objects) == sorted(one["kind"] for one in made.manifests.values())


def test_a_catalog_has_the_dependencies_and_properties_of_a_bundle(tmp_path: Path) -> None:
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


def problems(*entries: Entry) -> list[str]:
    return [f"{level}: {text}" for level, text in check_channel("stable", entries)]


def chain(*names: str) -> list[Entry]:
    return [Entry(name=name, replaces=before) for before, name in zip(("", *names), names, strict=False)]


def test_accepts_a_chain_of_versions() -> None:
    assert problems(*chain("a", "b", "c")) == []
    assert problems(Entry(name="c", replaces="a", skips=["b"]), Entry(name="b", replaces="a"), Entry(name="a")) == []
    assert problems(Entry(name="a", skip_range=">=1.0.0 <1.2.0-0 || 2.x")) == []


@pytest.mark.promise("Packages for OLM", "An upgrade graph that a cluster cannot follow is rejected.")
@pytest.mark.parametrize(
    ("entries", "message"),
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
def test_reports_a_graph_that_a_cluster_cannot_follow(entries: list[Entry], message: str) -> None:
    assert any(message in text for text in problems(*entries)), problems(*entries)


@pytest.mark.promise("Packages for OLM", "An upgrade graph that a cluster cannot follow is rejected.")
def test_rejects_bundles_that_do_not_form_a_catalog(tmp_path: Path) -> None:
    first = bundle(tmp_path / "a", "1.0.0")
    with pytest.raises(BundleError, match="must have one newest version"):
        Catalog.of([first, bundle(tmp_path / "b", "1.1.0")])
    with pytest.raises(BundleError, match=r"are both version 1\.0\.0"):
        Catalog.of([first, bundle(tmp_path / "c", "1.0.0")])
    with pytest.raises(BundleError, match="at least one bundle"):
        Catalog.of([])
    with pytest.raises(BundleError, match="has no name, no package"):
        Catalog.of([Bundle.read(tmp_path)])


def test_warns_about_a_missing_predecessor(tmp_path: Path) -> None:
    [warning] = Catalog.of([bundle(tmp_path, "1.1.0", "1.0.0", channels=["stable"])]).warnings
    assert warning == (
        "channel stable: shelf-operator.v1.1.0 replaces shelf-operator.v1.0.0, which is not among the bundles"
    )


def test_the_dockerfile_of_a_catalog_serves_its_folder() -> None:
    text = catalog_dockerfile("catalog").text
    assert "ADD catalog /configs\n" in text
    assert "LABEL operators.operatorframework.io.index.configs.v1=/configs\n" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"install_mode": "SingleNamespace"}, "SingleNamespace requires the namespaces"),
        ({"channel": "slow"}, "is not in the channel 'slow'"),
    ],
)
def test_rejects_an_invalid_installation(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=message):
        Installation(bundle=bundle(tmp_path, "1.0.0"), namespace="here", **given)


def test_uses_the_widest_install_mode_unless_targets_are_given(tmp_path: Path) -> None:
    made = bundle(tmp_path, "1.0.0")

    def mode(*targets: str) -> tuple[str, list[str] | None]:
        installation = Installation(bundle=made, namespace="here", targets=targets)
        return installation.install_mode, installation.target_namespaces()

    assert mode() == ("AllNamespaces", None)
    assert mode("here") == ("OwnNamespace", ["here"])
    assert mode("there") == ("SingleNamespace", ["there"])
    assert mode("there", "here") == ("MultiNamespace", ["here", "there"])
