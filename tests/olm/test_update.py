"""Updates of a bundle in a folder: it is generated, edited, and generated again."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubewright.crd import to_yaml
from kubewright.manifests import ForeignFile, Project
from kubewright.olm import Bundle, BundleError, Listing, prepare, remembered
from kubewright.yaml import load_yaml_documents
from tests.olm.projects import LISTING, Book, Shelf, plain, project

CSV = "manifests/shelf-operator.clusterserviceversion.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A newly generated bundle."""
    made = tmp_path / "bundle"
    prepare(made, plain(), LISTING).write()
    return made


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    [content] = load_yaml_documents((folder / CSV).read_text())
    change(content)
    (folder / CSV).write_text(to_yaml(content))


def again(folder: Path, of: Project | None = None, listing: Listing = LISTING) -> dict[str, Any]:
    prepare(folder, of or plain(), listing).write()
    return dict(Bundle.read(folder).csv)


def shelf(content: dict[str, Any]) -> dict[str, Any]:
    [found] = [one for one in content["spec"]["customresourcedefinitions"]["owned"] if one["kind"] == "Shelf"]
    return dict(found)


@pytest.mark.promise("Packages for OLM", "The same program gives the same bundle, byte by byte.")
def test_a_second_run_writes_nothing(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*") if path.is_file()}
    done = prepare(folder, plain(), LISTING).write()
    assert (list(done.written), list(done.removed)) == ([], [])
    assert {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*") if path.is_file()} == before
    assert prepare(folder, plain(), LISTING).compare() == []


@pytest.mark.promise(
    "Packages for OLM",
    "Edits of the ClusterServiceVersion survive, and changes of the program arrive.",
)
def test_a_new_version_keeps_edited_texts_icons_keywords_and_descriptors(folder: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        spec = content["spec"]
        spec["description"] = "My own words."
        spec["icon"] = [{"base64data": "bWluZQ==", "mediatype": "image/png"}]
        spec["keywords"].append("mine")
        content["metadata"]["annotations"]["createdAt"] = "2030-01-01"
        content["metadata"]["annotations"]["categories"] = "Storage"
        descriptors = shelf(content)["specDescriptors"]
        next(one for one in descriptors if one["path"] == "tier")["displayName"] = "How large"
        descriptors.append({"path": "backup.hidden", "displayName": "Added by me"})

    edit(folder, change)
    content = again(folder, plain(version="1.3.0"), replace(LISTING, keywords=[*LISTING.keywords, "new"]))
    spec = content["spec"]
    assert (spec["version"], content["metadata"]["name"]) == ("1.3.0", "shelf-operator.v1.3.0")
    assert spec["description"] == "My own words."
    assert spec["icon"] == [{"base64data": "bWluZQ==", "mediatype": "image/png"}]
    assert spec["keywords"] == ["books", "shelves", "mine", "new"]
    assert content["metadata"]["annotations"]["createdAt"] == "2030-01-01"
    assert content["metadata"]["annotations"]["categories"] == "Storage"
    found = {one["path"]: one for one in shelf(content)["specDescriptors"]}
    assert found["tier"]["displayName"] == "How large"
    assert found["backup.hidden"]["displayName"] == "Added by me"
    assert (
        prepare(folder, plain(version="1.3.0"), replace(LISTING, keywords=[*LISTING.keywords, "new"])).compare() == []
    )


@pytest.mark.promise(
    "Packages for OLM",
    "Edits of the ClusterServiceVersion survive, and changes of the program arrive.",
)
def test_applies_changes_of_the_program_next_to_an_edit(folder: Path) -> None:
    edit(folder, lambda content: content["spec"]["install"]["spec"]["deployments"][0]["spec"].update(replicas=3))
    content = again(folder, plain(image="registry.example.com/shelf:9"))
    deployment = content["spec"]["install"]["spec"]["deployments"][0]["spec"]
    assert deployment["replicas"] == 3
    assert deployment["template"]["spec"]["containers"][0]["image"] == "registry.example.com/shelf:9"


@pytest.mark.promise("Packages for OLM", "A removed kind disappears from the bundle, and lost edits are reported.")
def test_removes_the_files_of_a_removed_kind_and_reports_lost_edits(folder: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        for one in content["spec"]["customresourcedefinitions"]["owned"]:
            one["displayName"] = "Mine"

    edit(folder, change)
    update = prepare(folder, replace(plain(), kinds=(Shelf,)), LISTING)
    assert list(update.lost) == ["spec.customresourcedefinitions.owned[books.olmtest.example.com/v1]"]
    done = update.write()
    assert "manifests/olmtest.example.com_books.yaml" in done.removed
    owned = Bundle.read(folder).spec["customresourcedefinitions"]["owned"]
    assert [(one["kind"], one["displayName"]) for one in owned] == [("Shelf", "Mine")]
    assert "Book" not in str(Bundle.read(folder).csv["metadata"]["annotations"]["alm-examples"])


@pytest.mark.promise("Packages for OLM", "A conflict is shown, and nothing is written.")
def test_a_conflict_writes_nothing(folder: Path) -> None:
    edit(folder, lambda content: content["metadata"]["annotations"].update(containerImage="mine:1"))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    changed = plain(version="1.3.0")
    update = prepare(folder, changed, LISTING)
    assert [one.path for one in update.conflicts] == ["metadata.annotations.containerImage"]
    with pytest.raises(
        BundleError, match=r'you changed it to "mine:1", and now it is generated as "shelf-operator:1.3.0"'
    ):
        update.write()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    prepare(folder, changed, LISTING, keep="mine").write()
    assert Bundle.read(folder).csv["metadata"]["annotations"]["containerImage"] == "mine:1"
    assert prepare(folder, changed, LISTING).compare() == []


def test_keeps_comments_while_nothing_changes(folder: Path) -> None:
    text = (folder / CSV).read_text() + "# A comment of mine.\n"
    (folder / CSV).write_text(text)
    again(folder)
    assert (folder / CSV).read_text() == text


def test_without_the_previous_state_keeps_additions_and_reports_conflicts(folder: Path) -> None:
    (folder / ".generated" / Path(CSV).name).unlink()
    edit(folder, lambda content: content["spec"].update(displayName="Mine", maturity="stable", selector={}))
    update = prepare(folder, plain(), LISTING)
    assert [one.path for one in update.conflicts] == ["spec.displayName"]
    prepare(folder, plain(), LISTING, keep="mine").write()
    assert Bundle.read(folder).spec["displayName"] == "Mine"
    assert Bundle.read(folder).spec["selector"] == {}


def test_does_not_replace_or_remove_a_file_of_the_user(folder: Path) -> None:
    own = folder / "manifests" / "settings.yaml"
    own.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
    (folder.parent / "bundle.Dockerfile").write_text("FROM mine\n")
    with pytest.raises(ForeignFile, match=r"bundle.Dockerfile: not generated"):
        prepare(folder, plain(version="1.3.0"), LISTING).write()
    assert Bundle.read(folder).version == "1.2.0"
    prepare(folder, plain(version="1.3.0"), LISTING).write(replace_foreign=True)
    assert own.exists()
    assert (folder.parent / "bundle.Dockerfile").read_text().startswith("# Generated")


def test_removes_the_service_version_of_another_operator(folder: Path) -> None:
    (folder / CSV).rename(folder / "manifests/old.clusterserviceversion.yaml")
    with pytest.raises(BundleError, match=r"old.clusterserviceversion.yaml already exists.* rename it to shelf-op"):
        prepare(folder, plain(), LISTING)


@pytest.mark.parametrize("text", ["kind: [", "[]", "a: 1\n---\nb: 2\n"])
def test_does_not_change_an_unreadable_service_version(folder: Path, text: str) -> None:
    (folder / CSV).write_text(text)
    with pytest.raises(BundleError, match="cannot be merged"):
        prepare(folder, plain(), LISTING)
    assert (folder / CSV).read_text() == text


def test_a_folder_remembers_its_options(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    assert remembered(folder, plain()) == {}
    listing = replace(LISTING, replaces="shelf-operator.v1.1.0", skips=("a.v1",), skip_range="<1.2.0")
    prepare(folder, plain(), listing).write()
    known = remembered(folder, plain())
    assert known["channels"] == ["fast", "stable"]
    assert known["default_channel"] == "stable"
    assert known["icon"] == LISTING.icon
    assert (known["replaces"], known["skips"], known["skip_range"]) == ("shelf-operator.v1.1.0", ["a.v1"], "<1.2.0")
    later = remembered(folder, plain(version="1.3.0"))
    assert later.keys() == {
        "channels",
        "default_channel",
        "icon",
        "scorecard_image",
    }  # without what it replaces


def test_reports_drift_for_each_file(folder: Path) -> None:
    (folder / "metadata/annotations.yaml").unlink()
    (folder.parent / "bundle.Dockerfile").unlink()
    drift = [str(one) for one in prepare(folder, plain(), LISTING).compare()]
    assert drift == ["metadata/annotations.yaml is missing", "../bundle.Dockerfile is missing"]


def test_a_second_run_of_a_full_project_writes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    everything = project(replicas=3, service_monitor=True, network_policy=True)
    prepare(folder, everything, LISTING).write()
    assert prepare(folder, copy.copy(everything), LISTING).compare() == []
    assert Book.__name__ in (folder / "manifests/olmtest.example.com_books.yaml").read_text()
