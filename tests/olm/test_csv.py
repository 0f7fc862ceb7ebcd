"""The ClusterServiceVersion that is generated from the program."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import apps
from kubewright.manifests import Project
from kubewright.olm import Listing, bundle_files, cluster_service_version, csv_name
from tests.olm.projects import GROUP, LISTING, OldShelfSpec, operator, plain, project

UI = "urn:alm:descriptor:com.tectonic.ui:"


def csv(of: Project, listing: Listing = LISTING) -> dict[str, Any]:
    return cluster_service_version(of, listing)


def owned(content: dict[str, Any], version: str = "v1", kind: str = "Shelf") -> dict[str, Any]:
    [found] = [
        one
        for one in content["spec"]["customresourcedefinitions"]["owned"]
        if (one["version"], one["kind"]) == (version, kind)
    ]
    return dict(found)


def described(content: dict[str, Any], part: str) -> dict[str, dict[str, Any]]:
    return {one["path"]: one for one in owned(content)[part]}


def modes(content: dict[str, Any]) -> dict[str, bool]:
    return {one["type"]: one["supported"] for one in content["spec"]["installModes"]}


def container(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]
    return dict(found["containers"][0])


def test_has_the_fields_that_users_read() -> None:
    content = csv(project())
    assert content["metadata"]["name"] == "shelf-operator.v1.2.0"
    spec = content["spec"]
    assert spec["displayName"] == "Shelf Operator"
    assert spec["description"].startswith("Keeps books.\n\n* **Shelf** (olmtest.example.com/v1): Shelves for books.\n")
    assert spec["keywords"] == ["books", "shelves"]
    assert spec["maintainers"] == [{"name": "Ada", "email": "ada@example.com"}]
    assert spec["provider"] == {"name": "Example"}
    assert spec["links"] == [{"name": "Source", "url": "https://example.com/shelf"}]
    assert spec["icon"] == [{"mediatype": "image/svg+xml", "base64data": "PHN2Zy8+"}]
    assert (spec["maturity"], spec["version"], spec["minKubeVersion"]) == ("stable", "1.2.0", "1.29.0")
    assert spec["relatedImages"] == [{"name": "manager", "image": "shelf-operator:1.2.0"}]
    assert content["metadata"]["annotations"]["containerImage"] == "shelf-operator:1.2.0"
    assert "createdAt" not in content["metadata"]["annotations"]  # it would differ on every run


def test_a_version_below_1_0_0_is_alpha() -> None:
    assert csv(project(version="0.3.0"))["spec"]["maturity"] == "alpha"
    assert csv(project(version="1.0.0-rc.1"))["spec"]["maturity"] == "alpha"


def test_a_name_is_lowercase_and_has_no_plus() -> None:
    assert csv_name("foo", "1.0.0-RC.1+build") == "foo.v1.0.0-rc.1-build"


@pytest.mark.promise("Packages for OLM", "Each field of a kind has a descriptor, from its schema.")
def test_describes_each_field_of_the_spec() -> None:
    found = described(csv(project()), "specDescriptors")
    assert found["replicas"] == {
        "path": "replicas",
        "displayName": "Replicas",
        "description": "How many servers.",
        "x-descriptors": [f"{UI}podCount"],
    }
    assert found["tier"]["x-descriptors"] == [f"{UI}select:small", f"{UI}select:large"]
    assert found["name"]["x-descriptors"] == [f"{UI}text"]
    assert found["public"]["x-descriptors"] == [f"{UI}booleanSwitch"]
    assert found["resources"]["x-descriptors"] == [f"{UI}resourceRequirements"]
    assert found["backup.keep"]["x-descriptors"] == [f"{UI}number"]
    assert found["backup.schedule"]["description"] == "When."
    assert "layout" in found
    assert not [path for path in found if path.startswith(("layout.", "resources."))]


@pytest.mark.promise("Packages for OLM", "Each field of a kind has a descriptor, from its schema.")
def test_shows_conditions_as_a_table() -> None:
    found = described(csv(project()), "statusDescriptors")
    assert found["conditions"]["x-descriptors"] == ["urn:alm:descriptor:io.kubernetes.conditions"]
    assert found["replicas"]["x-descriptors"] == [f"{UI}text"]


def test_lists_the_kinds_that_the_operator_creates_and_watches() -> None:
    assert owned(csv(project()))["resources"] == [
        {"kind": "Book", "name": "books.olmtest.example.com", "version": "v1"},
        {"kind": "Deployment", "name": "", "version": "v1"},
        {"kind": "Pod", "name": "", "version": "v1"},
    ]


@pytest.mark.promise("Packages for OLM", "Each served version of a kind is owned and has a valid example.")
def test_owns_every_served_version_with_an_example() -> None:
    content = csv(project())
    versions = [(one["kind"], one["version"]) for one in content["spec"]["customresourcedefinitions"]["owned"]]
    assert sorted(versions) == [("Book", "v1"), ("Shelf", "v1"), ("Shelf", "v1alpha1")]
    examples = json.loads(content["metadata"]["annotations"]["alm-examples"])
    assert [(one["kind"], one["apiVersion"].partition("/")[2]) for one in examples] == [
        ("Book", "v1"),
        ("Shelf", "v1"),
        ("Shelf", "v1alpha1"),
    ]
    assert examples[1]["spec"] == {"replicas": 2, "tier": "small", "name": "example", "public": False}


def test_prefers_samples_to_generated_examples() -> None:
    sample = {"apiVersion": f"{GROUP}/v1", "kind": "Book", "metadata": {"name": "mine"}, "spec": {"count": 3}}
    content = cluster_service_version(project(), LISTING, [sample])
    examples = json.loads(content["metadata"]["annotations"]["alm-examples"])
    assert [one["metadata"]["name"] for one in examples] == ["mine", "shelf-sample", "shelf-sample"]


def test_takes_the_namespaces_from_olm() -> None:
    content = csv(plain(operator=operator(namespaces=["team-a"])))
    assert "--namespace=team-a" not in container(content)["args"]
    [variable] = [one for one in container(content)["env"] if one["name"] == "KUBEWRIGHT_NAMESPACES"]
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.annotations['olm.targetNamespaces']"


ALL = {"OwnNamespace": True, "SingleNamespace": True, "MultiNamespace": True, "AllNamespaces": True}
WHOLE = {"OwnNamespace": False, "SingleNamespace": False, "MultiNamespace": False, "AllNamespaces": True}


@pytest.mark.promise("Packages for OLM", "Install modes and permissions follow from what the operator does.")
def test_install_modes_depend_on_the_operator() -> None:
    assert modes(csv(plain())) == ALL
    assert modes(csv(project())) == WHOLE  # a conversion is for the whole cluster
    assert modes(csv(plain(operator=operator(namespaces=["team-a"])))) == {**ALL, "AllNamespaces": False}
    following = csv(plain(operator=operator(namespace_labels="team=a")))
    assert modes(following) == WHOLE
    assert "--namespace-labels=team=a" in container(following)["args"]


@kw.resource(f"{GROUP}/v1", scope="Cluster")
class Library(kw.Resource[OldShelfSpec, None]):
    """A cluster-scoped kind."""


def test_an_operator_of_cluster_scoped_kinds_needs_the_whole_cluster() -> None:
    made = kw.Operator("library-operator")

    @made.reconciles(Library, owns=[apps.Deployment])
    async def sync(library: Library, ctx: kw.Context[Library]) -> None: ...

    content = csv(Project(operator=made, target="library.py"))
    assert modes(content) == WHOLE
    everywhere = rules(content, "clusterPermissions")
    assert {"libraries", "deployments"} <= resources(everywhere)
    assert resources(rules(content, "permissions")) == {"leases"}


def rules(content: dict[str, Any], where: str) -> list[dict[str, Any]]:
    [granted] = content["spec"]["install"]["spec"].get(where) or [{"rules": []}]
    return list(granted["rules"])


def resources(granted: list[dict[str, Any]]) -> set[str]:
    return {name for rule in granted for name in rule["resources"]}


@pytest.mark.promise("Packages for OLM", "Install modes and permissions follow from what the operator does.")
def test_grants_namespaced_permissions_in_watched_namespaces() -> None:
    content = csv(plain())
    assert {"shelves", "books", "deployments", "leases"} <= resources(rules(content, "permissions"))
    assert resources(rules(content, "clusterPermissions")) == {"tokenreviews", "subjectaccessreviews"}
    openly = csv(plain(metrics_secure=False))
    assert "clusterPermissions" not in openly["spec"]["install"]["spec"]
    assert "--no-metrics-secure" in container(openly)["args"]


@pytest.mark.promise("Packages for OLM", "Install modes and permissions follow from what the operator does.")
def test_grants_cluster_permissions_once() -> None:
    made = operator()
    made.needs(kw.api.core.Node, verbs=["get"])
    content = csv(plain(operator=made, metrics=False))
    assert rules(content, "clusterPermissions") == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]
    assert "nodes" not in resources(rules(content, "permissions"))


def test_olm_provides_webhooks_and_their_certificate() -> None:
    content = csv(project())
    types = [one["type"] for one in content["spec"]["webhookdefinitions"]]
    assert types == ["ConversionWebhook", "ValidatingAdmissionWebhook"]
    variables = {one["name"]: one.get("value") for one in container(content)["env"]}
    assert variables["KUBEWRIGHT_WEBHOOK_CERTIFICATES"] == "olm"
    names = [file.path for file in bundle_files(project(), LISTING)]
    assert not [name for name in names if "webhook" in name]


def test_has_the_fields_of_the_upgrade_graph() -> None:
    listing = replace(LISTING, replaces="shelf-operator.v1.1.0", skips=("shelf-operator.v1.1.1",), skip_range="<1.2.0")
    content = csv(project(), listing)
    assert content["spec"]["replaces"] == "shelf-operator.v1.1.0"
    assert content["spec"]["skips"] == ["shelf-operator.v1.1.1"]
    assert content["metadata"]["annotations"]["olm.skipRange"] == "<1.2.0"
    assert "replaces" not in csv(project())["spec"]


@pytest.mark.parametrize("name", ["prometheusoperator.0.56.3", "foo.v1.0", "foo.v1.0.0-rc.1"])
def test_replaces_a_version_with_another_form_of_name(name: str) -> None:
    assert csv(project(), replace(LISTING, replaces=name))["spec"]["replaces"] == name


def test_the_bundle_has_only_objects_that_olm_does_not_create() -> None:
    names = sorted(file.path for file in bundle_files(project(replicas=2, service_monitor=True), LISTING))
    assert [name for name in names if "clusterrole" not in name] == [
        "manifests/olmtest.example.com_books.yaml",
        "manifests/olmtest.example.com_shelves.yaml",
        "manifests/shelf-operator-metrics_monitoring.coreos.com_servicemonitor.yaml",
        "manifests/shelf-operator-metrics_v1_service.yaml",
        "manifests/shelf-operator.clusterserviceversion.yaml",
        "manifests/shelf-operator_policy_poddisruptionbudget.yaml",
        "metadata/annotations.yaml",
        "tests/scorecard/config.yaml",
    ]
    roles = [name for name in names if "clusterrole" in name]
    assert len(roles) == 7  # for people, three of each kind; and for readers of metrics
    assert "manifests/shelf-operator-metrics-reader_rbac.authorization.k8s.io_clusterrole.yaml" in roles


def test_certificate_of_metrics_is_self_signed_in_bundle() -> None:
    [csv_of_bundle, *files] = bundle_files(project(service_monitor=True, metrics_certificates="cert-manager"), LISTING)
    assert "--metrics-secure" in csv_of_bundle.text
    assert "--metrics-cert-path" not in csv_of_bundle.text
    [monitor] = [file.text for file in files if "servicemonitor" in file.path]
    assert "insecureSkipVerify: true" in monitor


def test_no_object_names_a_namespace_or_cert_manager() -> None:
    for file in bundle_files(project(certificates="cert-manager"), LISTING):
        if file.path.startswith("manifests/") and "clusterserviceversion" not in file.path:
            assert "namespace: shelf-operator-system\n  name" not in file.text
            assert "cert-manager" not in file.text


@pytest.mark.promise("Packages for OLM", "The same program gives the same bundle, byte by byte.")
def test_the_same_project_gives_the_same_bytes() -> None:
    assert bundle_files(project(), LISTING) == bundle_files(project(), LISTING)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"channels": ["a b"]}, "channel 'a b' must be letters"),
        ({"channels": ["fast"], "default_channel": "slow"}, "default channel 'slow' is not one of the channels fast"),
        ({"min_kube_version": "1.29"}, "must be a full version"),
    ],
)
def test_rejects_an_invalid_listing(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Listing(**wrong)
