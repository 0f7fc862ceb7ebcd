"""Validation reports file, field and advice for each problem, and agrees with operator-framework's validator."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubewright.crd import to_yaml
from kubewright.olm import Bundle, BundleError, Suite, validate
from kubewright.yaml import load_yaml_documents
from tests.olm.broken import BROKEN, CRD, CSV, good
from tests.olm.validator import BUILD_SECONDS, theirs


@pytest.mark.promise("Packages for OLM", "Each problem of a bundle is reported with its file, its field and the fix.")
@pytest.mark.parametrize("name", BROKEN)
def test_reports_each_problem_with_its_file_and_field(name: str, tmp_path: Path) -> None:
    case = BROKEN[name]
    case.make(tmp_path / "bundle")
    report = validate(tmp_path / "bundle", ["bundle"])
    assert report.ok is case.valid
    if not case.says:
        assert list(report.problems) == []
        return
    matching = [one for one in report.problems if case.says in one.message and one.field == case.field]
    assert matching, "\n".join(str(one) for one in report.problems)
    assert matching[0].level == ("warning" if case.valid else "error")
    assert matching[0].advice
    if case.file.endswith(".yaml"):
        assert matching[0].file.startswith("manifests")


@pytest.mark.promise("Packages for OLM", "operator-framework's validator agrees about every bundle of a table.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_agrees_with_operator_framework_about_every_bundle(tmp_path: Path) -> None:
    folders = {}
    for number, (name, case) in enumerate(BROKEN.items()):
        folder = tmp_path / str(number) / "bundle"
        folder.parent.mkdir()
        case.make(folder)
        folders[folder] = name
    # The test above checks our verdicts.
    refused = {folders[folder]: verdict.errors for folder, verdict in theirs(folders).items()}
    differ = {name: errors for name, errors in refused.items() if bool(errors) is BROKEN[name].valid}
    assert differ == {}


@pytest.mark.control_plane
def test_rejects_a_bundle_that_is_too_large(tmp_path: Path) -> None:
    good(tmp_path / "bundle")
    (tmp_path / "bundle/notes.bin").write_bytes(os.urandom(800_000))
    [problem] = validate(tmp_path / "bundle", ["bundle"]).errors
    assert "bytes when compressed" in problem.message
    assert bool(theirs([tmp_path / "bundle"])[tmp_path / "bundle"].errors)


def changed(folder: Path, path: str, change: Callable[[Any], None]) -> Bundle:
    [content] = load_yaml_documents((folder / path).read_text())
    change(content)
    (folder / path).write_text(to_yaml(content))
    return Bundle.read(folder)


PREFIX = "operators.operatorframework.io.bundle"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda it: it["annotations"].pop(f"{PREFIX}.package.v1"), "package.v1]: it is missing; set the name"),
        (lambda it: it["annotations"].update({f"{PREFIX}.manifests.v1": "here/"}), "it is 'here/'; set manifests/"),
        (lambda it: it["annotations"].update({f"{PREFIX}.mediatype.v1": "helm"}), "it is 'helm'; set registry+v1"),
        (lambda it: it["annotations"].pop(f"{PREFIX}.channels.v1"), "channels.v1]: it is missing"),
        (lambda it: it["annotations"].update({f"{PREFIX}.channel.default.v1": "x"}), "'x' is not one of the channels"),
        (lambda it: it.pop("annotations"), "there are no annotations; run `kubewright bundle`"),
    ],
)
def test_rejects_wrong_annotations(change: Callable[[Any], None], says: str, tmp_path: Path) -> None:
    good(tmp_path)
    report = validate(changed(tmp_path, "metadata/annotations.yaml", change))
    assert not report.ok
    assert any(says in str(one) and one.file == "metadata/annotations.yaml" for one in report.errors), report


def test_rejects_a_kind_that_olm_does_not_install(tmp_path: Path) -> None:
    good(tmp_path)
    (tmp_path / "manifests/job.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n")
    [problem] = validate(tmp_path).errors
    assert str(problem) == "manifests/job.yaml: kind: OLM does not install a Job from a bundle; remove the file"


def errors_of(suite: Suite, folder: Path) -> list[str]:
    return [f"{one.check}: {one.field}: {one.message}" for one in validate(folder, [suite]).errors]


def test_a_generated_bundle_passes_the_scorecard_except_for_kinds_without_resources(tmp_path: Path) -> None:
    good(tmp_path)
    owned = "spec.customresourcedefinitions.owned[books.olmtest.example.com/v1]"
    assert errors_of("scorecard", tmp_path) == [
        f"olm-crds-have-resources: {owned}.resources: no kinds are listed that are created for a Book"
    ]


OWNED = ("spec", "customresourcedefinitions", "owned")


def shelf(content: Any) -> Any:
    return next(one for one in content["spec"]["customresourcedefinitions"]["owned"] if one["kind"] == "Shelf")


@pytest.mark.promise("Packages for OLM", "Validation includes the tests of the scorecard's suites basic and olm.")
@pytest.mark.parametrize(
    ("path", "change", "test", "says"),
    [
        (
            CSV,
            lambda it: it["metadata"]["annotations"].update({"alm-examples": "[]"}),
            "basic-check-spec",
            "no examples",
        ),
        (
            CSV,
            lambda it: it["metadata"]["annotations"].update({"alm-examples": '[{"kind": "Shelf", "metadata": {}}]'}),
            "basic-check-spec",
            "Shelf None has no spec",
        ),
        (
            CRD,
            lambda it: it["spec"]["versions"][0].update(schema={"openAPIV3Schema": {"type": "object"}}),
            "olm-crds-have-validation",
            "v1 has no schema with properties",
        ),
        (CSV, lambda it: shelf(it).pop("resources"), "olm-crds-have-resources", "created for a Shelf"),
        (CSV, lambda it: shelf(it).pop("specDescriptors"), "olm-spec-descriptors", "tier has no descriptor"),
        (CSV, lambda it: shelf(it).pop("statusDescriptors"), "olm-status-descriptors", "conditions has no descriptor"),
    ],
)
def test_includes_each_test_of_the_scorecard(
    path: str, change: Callable[[Any], None], test: str, says: str, tmp_path: Path
) -> None:
    good(tmp_path)
    found = validate(changed(tmp_path, path, change), ["scorecard"]).errors
    assert [one for one in found if one.check == test and says in one.message and one.advice], found


HUB: dict[str, tuple[Callable[[Any], None], str, str]] = {
    "nothing": (lambda it: None, "", ""),
    "no provider": (lambda it: it["spec"].pop("provider"), "spec.provider.name", "it is missing"),
    "no mail": (lambda it: it["spec"].update(maintainers=[{"name": "A"}]), "spec.maintainers", "no email"),
    "a wrong mail": (
        lambda it: it["spec"].update(maintainers=[{"name": "A", "email": "ada"}]),
        "spec.maintainers",
        "'ada' is not an email address",
    ),
    "a link without a name": (lambda it: it["spec"].update(links=[{"url": "https://a"}]), "spec.links", "no name"),
    "a wrong link": (lambda it: it["spec"].update(links=[{"name": "a", "url": "here"}]), "spec.links", "'here'"),
    "two pictures": (
        lambda it: it["spec"].update(icon=[{"base64data": "YQ==", "mediatype": "image/png"}] * 2),
        "spec.icon",
        "there are 2",
    ),
    "a film": (
        lambda it: it["spec"].update(icon=[{"base64data": "YQ==", "mediatype": "video/mp4"}]),
        "spec.icon",
        "is not a supported image type",
    ),
    "no version": (lambda it: it["spec"].pop("version"), "spec.version", "it is missing"),
    "a wrong level": (
        lambda it: it["metadata"]["annotations"].update(capabilities="Magic"),
        "metadata.annotations[capabilities]",
        "'Magic' is unknown",
    ),
    "a wrong category": (
        lambda it: it["metadata"]["annotations"].update(categories="Storage, Fun"),
        "metadata.annotations[categories]",
        "'Fun' is unknown",
    ),
}


@pytest.mark.promise("Packages for OLM", "operator-framework's validator agrees about every bundle of a table.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_agrees_with_the_stricter_rules_of_operatorhub(tmp_path: Path) -> None:
    folders = {}
    for number, (name, (change, field, says)) in enumerate(HUB.items()):
        folder = tmp_path / str(number) / "bundle"
        folder.parent.mkdir()
        good(folder)
        report = validate(changed(folder, CSV, change), ["operatorhub"])
        assert [(one.field, says in one.message) for one in report.errors] == ([(field, True)] if says else []), name
        folders[folder] = name
    verdicts = theirs(folders, "operatorhub")
    assert {folders[folder]: bool(one.errors) for folder, one in verdicts.items()} == {
        name: bool(says) for name, (_, _, says) in HUB.items()
    }


def test_rejects_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="is not a folder; a bundle is a folder"):
        validate(tmp_path / "absent")


def test_reports_a_folder_without_manifests(tmp_path: Path) -> None:
    assert "manifests/ does not exist" in str(validate(tmp_path).errors[0])


@pytest.mark.promise("Packages for OLM", "Each problem of a bundle is reported with its file, its field and the fix.")
def test_reports_malformed_files_and_never_raises(tmp_path: Path) -> None:
    for number, text in enumerate(
        ["[]", "3", "{}", "kind: 3", "spec: []\nkind: CustomResourceDefinition", "\x00", "a: &a [*a]"]
    ):
        folder = tmp_path / str(number)
        good(folder)
        for path in (CSV, CRD, "metadata/annotations.yaml"):
            (folder / path).write_text(text)
        assert not validate(folder, ["format", "bundle", "scorecard", "operatorhub"]).ok
