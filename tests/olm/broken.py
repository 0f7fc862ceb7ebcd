"""A table of invalid bundles: the change to a valid bundle, and the expected problem."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubewright.crd import to_yaml
from kubewright.manifests import File
from kubewright.olm import bundle_files
from kubewright.yaml import load_yaml_documents
from tests.olm.projects import LISTING, project

__all__ = ["BROKEN", "CRD", "CSV", "Broken", "good"]

CSV = "manifests/shelf-operator.clusterserviceversion.yaml"
CRD = "manifests/olmtest.example.com_shelves.yaml"

Change = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Broken:
    """A change to a valid bundle. `says` is a part of the expected message, `field` the field that it names."""

    file: str
    change: Change | str
    field: str
    says: str
    valid: bool = False
    """Whether the bundle is accepted with a warning."""

    def make(self, folder: Path) -> None:
        """Writes the changed bundle to a folder."""
        good(folder)
        path = folder / self.file
        if isinstance(self.change, str):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.change)
            return
        [content] = load_yaml_documents(path.read_text())
        self.change(content)
        path.write_text(to_yaml(content))


def good(folder: Path) -> None:
    """Writes a valid bundle."""
    for file in _files():
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)


@functools.cache
def _files() -> list[File]:
    return bundle_files(project(), LISTING)


def csv(change: Change, field: str, says: str, *, valid: bool = False) -> Broken:
    return Broken(CSV, change, field, says, valid)


def crd(change: Change, field: str, says: str) -> Broken:
    return Broken(CRD, change, field, says)


def at(*path: str | int, value: Any = None, delete: bool = False) -> Change:
    """Returns a change that sets or deletes the value at a path."""

    def change(content: dict[str, Any]) -> None:
        inside: Any = content
        for part in path[:-1]:
            inside = inside[part]
        if delete:
            del inside[path[-1]]
        else:
            inside[path[-1]] = value

    return change


ANNOTATIONS = ("metadata", "annotations")
EXAMPLES = "metadata.annotations[alm-examples]"
OWNED = "spec.customresourcedefinitions.owned"
MODES = "spec.installModes"
STRANGER = json.dumps([{"apiVersion": "other.example.com/v1", "kind": "Other", "metadata": {"name": "a"}}])
ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: shelf-operator}\n"
BETA = "apiVersion: apiextensions.k8s.io/v1beta2\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\nspec: {}\n"


def _second_owner(content: dict[str, Any]) -> None:
    content["spec"]["customresourcedefinitions"]["owned"] = [
        one for one in content["spec"]["customresourcedefinitions"]["owned"] if one["kind"] != "Shelf"
    ]
    content["metadata"]["annotations"]["alm-examples"] = "[]"


def _mode(mode: str, *, supported: bool) -> Change:
    def change(content: dict[str, Any]) -> None:
        for one in content["spec"]["installModes"]:
            if one["type"] == mode:
                one["supported"] = supported

    return change


BROKEN: dict[str, Broken] = {
    "no faults": Broken("manifests/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "", "", True),
    # The files.
    "no YAML": Broken("manifests/more.yaml", "kind: [", "", "cannot be read as YAML"),
    "an empty file": Broken("manifests/more.yaml", "", "", "not a Kubernetes object"),
    "no kind": Broken("manifests/more.yaml", "apiVersion: v1\n", "", "not a Kubernetes object"),
    "a hidden file": Broken("manifests/.more.yaml", ACCOUNT, "", "hidden file"),
    "a folder inside": Broken("manifests/more/a.yaml", "kind: ConfigMap\n", "", "it is a folder"),
    "no service version": Broken(CSV, ACCOUNT.replace("shelf-operator", "x"), "", "there is no ClusterServiceVersion"),
    "two service versions": Broken(
        "manifests/z.yaml", "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n", "", "is also"
    ),
    "an account that OLM makes": Broken("manifests/a.yaml", ACCOUNT, "metadata.name", "OLM creates the account"),
    "an unknown version of definitions": Broken("manifests/a.yaml", BETA, "apiVersion", "is not supported"),
    # The service version: names and versions.
    "capitals in the name": csv(at("metadata", "name", value="Shelf.v1"), "metadata.name", "'Shelf.v1' is not a name"),
    "no name": csv(at("metadata", "name", delete=True), "metadata.name", "'' is not a name"),
    "a long name": csv(at("metadata", "name", value="a" * 64), "metadata.name", "is not a name"),
    "a wrong replaces": csv(at("spec", "replaces", value="a_b"), "spec.replaces", "'a_b' is not a name"),
    "no apiVersion": csv(at("apiVersion", delete=True), "apiVersion", "it is missing"),
    "no version at all": csv(at("spec", "version", value="one"), "spec.version", "is not a semantic version"),
    "half a version": csv(at("spec", "version", value="1.0"), "spec.version", "is not a full", valid=True),
    "leading zeros": csv(at("spec", "version", value="1.02.0"), "spec.version", "is not a full", valid=True),
    "a wrong oldest Kubernetes": csv(at("spec", "minKubeVersion", value="1.29"), "spec.minKubeVersion", "not a full"),
    "no oldest Kubernetes": csv(
        at("spec", "minKubeVersion", delete=True), "spec.minKubeVersion", "it is missing", valid=True
    ),
    # What must be there.
    "no spec": csv(at("spec", delete=True), "spec", "it is missing"),
    "no display name": csv(at("spec", "displayName", delete=True), "spec.displayName", "it is missing"),
    "no strategy": csv(at("spec", "install", "strategy", delete=True), "spec.install.strategy", "it is missing"),
    "no install": csv(at("spec", "install", delete=True), "spec.install", "it is missing"),
    "no deployments": csv(
        at("spec", "install", "spec", "deployments", delete=True), "spec.install.spec.deployments", "it is missing"
    ),
    # Types.
    "keywords are a text": csv(
        at("spec", "keywords", value="a"), "spec.keywords", "Expected `array | null`, got `str`"
    ),
    "replicas are a text": csv(
        at("spec", "install", "spec", "deployments", 0, "spec", "replicas", value="three"),
        "spec.install.spec.deployments[0].spec.replicas",
        "Expected `int",
    ),
    # Install modes.
    "no install modes": csv(at("spec", "installModes", delete=True), MODES, "there are none"),
    "no supported install mode": csv(_mode("AllNamespaces", supported=False), MODES, "none is supported"),
    "a conversion in one namespace": csv(_mode("OwnNamespace", supported=True), MODES, "a webhook converts kinds"),
    # Annotations and examples.
    "a misspelled annotation": csv(
        at(*ANNOTATIONS, "olm.skiprange", value="<1.0.0"), "metadata.annotations[olm.skiprange]", "in this spelling"
    ),
    "old properties": csv(
        at(*ANNOTATIONS, "olm.properties", value="[]"),
        "metadata.annotations[olm.properties]",
        "this location is deprecated",
        valid=True,
    ),
    "no annotations": csv(at("metadata", "annotations", delete=True), EXAMPLES, "there are no examples", valid=True),
    "examples are no JSON": csv(at(*ANNOTATIONS, "alm-examples", value="[{"), EXAMPLES, "it is not JSON"),
    "examples are no list": csv(at(*ANNOTATIONS, "alm-examples", value='{"kind": "Shelf"}'), EXAMPLES, "not a list"),
    "an example without kind": csv(at(*ANNOTATIONS, "alm-examples", value='[{"a": 1}]'), EXAMPLES, "not a list"),
    "an example of others": csv(at(*ANNOTATIONS, "alm-examples", value=STRANGER), EXAMPLES, "Other of other.example"),
    "no examples": csv(at(*ANNOTATIONS, "alm-examples", value="[]"), EXAMPLES, "has no example", valid=True),
    "an owned kind without a group": csv(
        at("spec", "customresourcedefinitions", "owned", 0, "name", value="shelves"),
        OWNED,
        "not the name of a definition",
    ),
    # What fits together.
    "an owned kind without a definition": csv(
        at("spec", "customresourcedefinitions", "owned", 0, "version", value="v9"), OWNED, "has no definition"
    ),
    "a definition that is not owned": Broken(CSV, _second_owner, "", "does not own Shelf"),
    # Definitions.
    "another name": crd(at("metadata", "name", value="shelf.olmtest.example.com"), "metadata.name", "it is 'shelf."),
    "a group without a dot": crd(at("spec", "group", value="olmtest"), "spec.group", "is not a domain"),
    "a wrong scope": crd(at("spec", "scope", value="Everywhere"), "spec.scope", "'Everywhere'"),
    "a plural in capitals": crd(
        at("spec", "names", "plural", value="Shelves"), "spec.names.plural", "not a valid name"
    ),
    "a kind with a dash": crd(at("spec", "names", "kind", value="Shelf_"), "spec.names.kind", "not a valid name"),
    "the list is the kind": crd(at("spec", "names", "listKind", value="Shelf"), "spec.names.listKind", "kind itself"),
    "a wrong short name": crd(
        at("spec", "names", "shortNames", value=["S"]), "spec.names.shortNames", "not a valid name"
    ),
    "no stored version": crd(
        at("spec", "versions", 0, "storage", value=False), "spec.versions", "0 versions are stored"
    ),
    "two stored versions": crd(
        at("spec", "versions", 1, "storage", value=True), "spec.versions", "2 versions are stored"
    ),
    "a version twice": crd(at("spec", "versions", 1, "name", value="v1"), "spec.versions[1].name", "listed twice"),
    "no versions": crd(at("spec", "versions", value=[]), "spec.versions", "there are none"),
    "a warning without cause": crd(
        at("spec", "versions", 0, "deprecationWarning", value="old"), "spec.versions[0].deprecationWarning", "not depre"
    ),
    "a wrong column": crd(
        at("spec", "versions", 0, "additionalPrinterColumns", value=[{"name": "A", "type": "text", "jsonPath": ".a"}]),
        "spec.versions[0].additionalPrinterColumns[0].type",
        "'text'",
    ),
    "a column without a path": crd(
        at("spec", "versions", 0, "additionalPrinterColumns", value=[{"name": "A", "type": "string"}]),
        "spec.versions[0].additionalPrinterColumns[0].jsonPath",
        "it is not a path",
    ),
    "a wrong conversion": crd(
        at("spec", "conversion", value={"strategy": "Magic"}), "spec.conversion.strategy", "Magic"
    ),
    "a conversion without a client": crd(
        at("spec", "conversion", "webhook", "clientConfig", delete=True),
        "spec.conversion.webhook.clientConfig",
        "it is missing",
    ),
    "a conversion of an old review": crd(
        at("spec", "conversion", "webhook", "conversionReviewVersions", value=["v2"]),
        "spec.conversion.webhook.conversionReviewVersions",
        "v1 is not among them",
    ),
    "a protected group": Broken(
        CRD, at("spec", "group", value="olmtest.k8s.io"), "metadata.annotations[api-approved.kubernetes.io]", "reserved"
    ),
}
