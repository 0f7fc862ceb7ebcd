"""The kustomize tree and the Helm chart render what `objects` gives, object by object."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewright.api import info_of, to_dict
from kubewright.manifests import (
    KUSTOMIZE_FOLDERS,
    MARK,
    File,
    Project,
    chart_files,
    compare,
    crd_files,
    kustomize_files,
    objects,
    write,
)
from kubewright.olm import Listing, cluster_service_version
from kubewright.testing import setup_binaries
from tests.manifests.helm import BUILD_SECONDS, helm
from tests.manifests.projects import FULL, PROJECTS, project

Rendered = dict[str, dict[str, Any]]

# With these the chart is the whole of it: what Helm does otherwise is its own business.
ALL_OF_IT = ("--set", "namespace.create=true,crds.keep=false")


def by_name(documents: Iterable[dict[str, Any]]) -> Rendered:
    found: Rendered = {}
    for document in documents:
        metadata = document["metadata"]
        key = f"{document['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
        assert key not in found, f"{key} is listed twice"
        found[key] = document
    return found


def wanted(of: Project) -> Rendered:
    return by_name({name: part for name, part in to_dict(one).items() if name != "status"} for one in objects(of))


def kustomized(folder: Path, of: Project) -> Rendered:
    write(folder, kustomize_files(of))
    return by_name(yaml.safe_load_all(kustomize(folder / "default")))


@functools.cache
def kubectl() -> Path:
    return setup_binaries() / "kubectl"


def kustomize(folder: Path) -> str:
    done = subprocess.run([kubectl(), "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # kustomize warns of what is going to end
    return done.stdout


def templated(folder: Path, of: Project, *arguments: str, release: str | None = None) -> Rendered:
    if not folder.exists():
        write(folder, chart_files(of))
    done = helm("template", release or of.name, folder, "--namespace", of.namespace, *arguments)
    assert done.returncode == 0, done.stderr
    return by_name(one for one in yaml.safe_load_all(done.stdout) if one)


@pytest.mark.promise("Packaging", "The kustomize tree, the Helm chart and the objects are the same.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
@pytest.mark.parametrize("name", PROJECTS)
def test_tree_chart_and_objects_are_the_same(name: str, tmp_path: Path) -> None:
    expected = wanted(PROJECTS[name])
    assert kustomized(tmp_path / "config", PROJECTS[name]) == expected
    assert templated(tmp_path / "chart", PROJECTS[name], *ALL_OF_IT) == expected


@pytest.mark.promise("Packaging", "Values of the chart do what settings of the project do.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_values_switch_the_parts_of_a_chart_as_settings_do(tmp_path: Path) -> None:
    """One chart, that of the project with everything, becomes each of the smaller ones."""
    chart = tmp_path / "chart"
    no_webhooks = replace(FULL, webhooks=(), conversions=())
    for values, same in {
        "webhook.enabled=false": no_webhooks,
        "webhook.certificates=cert-manager": replace(FULL, certificates="cert-manager"),
        "webhook.certificates=files,webhook.secretName=mine,webhook.caBundle=UEVN": replace(
            FULL, certificates="files", certificate_secret="mine", ca_bundle=b"PEM"
        ),
        "replicas=1": replace(FULL, replicas=1),
        "metrics.enabled=false": replace(FULL, metrics=False, service_monitor=False),
        "metrics.secure=false": replace(FULL, metrics_secure=False),
        "metrics.certificates=cert-manager": replace(FULL, metrics_certificates="cert-manager"),
        "metrics.certificates=files,metrics.secretName=mine": replace(
            FULL, metrics_certificates="files", metrics_secret="mine"
        ),
        "metrics.serviceMonitor.enabled=false": replace(FULL, service_monitor=False),
        "networkPolicy.egress=null": replace(FULL, egress=()),
        "networkPolicy.enabled=false": replace(FULL, network_policy=False),
        "webhook.enabled=false,metrics.enabled=false": replace(no_webhooks, metrics=False, service_monitor=False),
        "image.repository=other/foo,image.tag=v2": replace(FULL, image="other/foo:v2"),
        "image.pullPolicy=Never,nodeSelector.disk=ssd": replace(
            FULL, pull_policy="Never", node_selector={"disk": "ssd"}
        ),
    }.items():
        assert templated(chart, FULL, *ALL_OF_IT, "--set", values) == wanted(same), values


@pytest.mark.promise("Packaging", "Values of the chart do what settings of the project do.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_values_that_only_a_chart_has(tmp_path: Path) -> None:
    chart, of = tmp_path / "chart", project()
    values = {
        "extraArgs": ["--log-level=debug"],
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "imagePullSecrets": [{"name": "registry"}],
        "serviceAccount": {"annotations": {"example.com/role": "reader"}},
    }
    (tmp_path / "values.yaml").write_text(json.dumps(values))
    found = templated(chart, of, "--values", str(tmp_path / "values.yaml"))
    pod = found["Deployment foo-operator-system/foo-operator"]["spec"]["template"]["spec"]
    assert "--log-level=debug" in pod["containers"][0]["args"]
    assert {"name": "TZ", "value": "UTC"} in pod["containers"][0]["env"]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    account = found["ServiceAccount foo-operator-system/foo-operator"]
    assert account["metadata"]["annotations"] == {"example.com/role": "reader"}


def bundled(of: Project) -> dict[str, Any]:
    """The Deployment's spec in a bundle, without the namespaces that OLM sets in a variable."""
    spec = cluster_service_version(of, Listing())["spec"]["install"]["spec"]["deployments"][0]["spec"]
    container = spec["template"]["spec"]["containers"][0]
    container["env"] = [one for one in container["env"] if one["name"] != "KUBEWRIGHT_NAMESPACES"]
    return dict(spec)


@pytest.mark.promise(
    "Packaging", "Settings of the pod are the same in the objects, the tree, the chart and the bundle."
)
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_pod_settings_are_the_same_in_all_four_packages(tmp_path: Path) -> None:
    # Without webhooks: OLM brings their certificate, so that only there the pod differs.
    of = replace(PROJECTS["pod settings"], webhooks=(), conversions=())
    key = f"Deployment {of.namespace}/{of.name}"
    deployments = [
        wanted(of)[key],
        kustomized(tmp_path / "config", of)[key],
        templated(tmp_path / "chart", of)[key],
        {**wanted(of)[key], "spec": bundled(of)},
    ]
    assert deployments == [deployments[0]] * 4
    pod = deployments[0]["spec"]["template"]["spec"]
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert [one["name"] for one in pod["imagePullSecrets"]] == ["registry", "mirror"]
    assert [one["name"] for one in pod["containers"]] == ["manager", "proxy"]
    assert pod["containers"][1]["securityContext"] == pod["containers"][0]["securityContext"]


@pytest.mark.promise("Packaging", "Values of the chart do what settings of the project do.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_values_replace_the_pod_settings_of_a_chart(tmp_path: Path) -> None:
    none_of_them = {
        value: None if value == "affinity" else "" if value == "priorityClassName" else []
        for value in (
            "affinity",
            "extraArgs",
            "extraContainers",
            "extraEnv",
            "extraEnvFrom",
            "extraVolumeMounts",
            "extraVolumes",
            "imagePullSecrets",
            "initContainers",
            "priorityClassName",
            "tolerations",
        )
    }
    values = none_of_them | {"nodeSelector": None}
    (tmp_path / "values.yaml").write_text(json.dumps(values))
    found = templated(
        tmp_path / "chart", PROJECTS["pod settings"], *ALL_OF_IT, "--values", str(tmp_path / "values.yaml")
    )
    assert found == wanted(FULL)


@pytest.mark.promise("Packaging", "Definitions are upgraded with a release, and survive it.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_a_release_keeps_its_definitions_and_leaves_the_namespace_to_helm(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    found = templated(chart, FULL)
    assert found.keys() == wanted(FULL).keys() - {"Namespace /foo-operator-system"}
    kept = found["CustomResourceDefinition /foos.packages.example.com"]["metadata"]["annotations"]
    assert kept == {"helm.sh/resource-policy": "keep"}
    beside_others = found["CustomResourceDefinition /bars.packages.example.com"]["metadata"]["annotations"]
    assert beside_others == {"example.com/note": "kept", "helm.sh/resource-policy": "keep"}
    assert not any("CustomResourceDefinition" in key for key in templated(chart, FULL, "--set", "crds.install=false"))


@pytest.mark.promise("Packaging", "Every name in the chart follows the release.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_every_name_follows_the_release(tmp_path: Path) -> None:
    """A release of another name and namespace has nothing of the project's own, but for labels and definitions."""
    chart = tmp_path / "chart"
    of = replace(FULL, certificates="cert-manager")
    write(chart, chart_files(of))
    done = helm("template", "blue", chart, "--namespace", "42")
    assert done.returncode == 0, done.stderr
    assert "foo-operator-system" not in done.stdout
    found = by_name(one for one in yaml.safe_load_all(done.stdout) if one)
    assert "Deployment 42/blue-foo-operator" in found
    service = found["ValidatingWebhookConfiguration /blue-foo-operator"]["webhooks"][0]["clientConfig"]["service"]
    assert (service["name"], service["namespace"]) == ("blue-foo-operator-webhook", "42")
    hosts = found["Certificate 42/blue-foo-operator-webhook"]["spec"]["dnsNames"]
    assert hosts[0] == "blue-foo-operator-webhook.42.svc"
    binding = found["ClusterRoleBinding /blue-foo-operator"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "blue-foo-operator", "namespace": "42"}]
    assert binding["roleRef"]["name"] == "blue-foo-operator"
    overridden = templated(chart, of, "--set", "fullnameOverride=green", release="blue")
    assert f"Deployment {of.namespace}/green" in overridden


@pytest.mark.promise("Packaging", "Every name in the chart follows the release.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_an_operator_that_watches_its_own_namespace_watches_that_of_the_release(tmp_path: Path) -> None:
    of = PROJECTS["at home"]
    chart = tmp_path / "chart"
    write(chart, chart_files(of))
    done = helm("template", "foo-operator", chart, "--namespace", "elsewhere")
    found = by_name(one for one in yaml.safe_load_all(done.stdout) if one)
    assert "Role elsewhere/foo-operator" in found
    container = found["Deployment elsewhere/foo-operator"]["spec"]["template"]["spec"]["containers"][0]
    assert "--namespace=elsewhere" in container["args"]


@pytest.mark.promise("Packaging", "`helm lint --strict` has nothing to say.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
@pytest.mark.parametrize("name", ["one replica", "everything", "no election"])
def test_helm_finds_nothing_to_complain_about(name: str, tmp_path: Path) -> None:
    write(tmp_path / "chart", chart_files(PROJECTS[name]))
    done = helm("lint", "--strict", tmp_path / "chart")
    assert done.returncode == 0, done.stdout
    complaints = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert complaints == ["[INFO] Chart.yaml: icon is recommended"]


@pytest.mark.promise("Packaging", "A misspelled or unfit value of the chart is refused with its name.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_a_wrong_value_is_rejected_with_its_name(tmp_path: Path) -> None:
    write(tmp_path / "full", chart_files(FULL))
    write(tmp_path / "alone", chart_files(PROJECTS["no election"]))
    for chart, value, complaint in (
        ("full", "replica=2", "additional properties 'replica' not allowed"),
        ("full", "replicas=0", "at '/replicas': minimum: got 0, want 1"),
        ("full", "webhook.certificates=none", "at '/webhook/certificates': value must be one of"),
        ("full", "image.tag=2", "at '/image/tag': got number, want string"),
        ("full", "metrics.certificates=none", "at '/metrics/certificates': value must be one of"),
        ("full", "metrics.enable=false", "additional properties 'enable' not allowed"),
        ("alone", "replicas=2", "at '/replicas': maximum: got 2, want 1"),
        ("alone", "webhook.enabled=true", "additional properties 'webhook' not allowed"),
    ):
        done = helm("template", tmp_path / chart, "--set", value)
        assert done.returncode != 0
        assert complaint in done.stderr


@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_the_chart_can_be_part_of_another_one(tmp_path: Path) -> None:
    write(tmp_path / "parent" / "charts" / "foo-operator", chart_files(project()))
    chart = {"apiVersion": "v2", "name": "parent", "version": "1.0.0"}
    (tmp_path / "parent" / "Chart.yaml").write_text(json.dumps(chart))
    done = helm("template", "parent", tmp_path / "parent", "--set", "global.region=north,foo-operator.replicas=2")
    assert done.returncode == 0, done.stderr
    found = by_name(one for one in yaml.safe_load_all(done.stdout) if one)
    assert found["Deployment default/parent-foo-operator"]["spec"]["replicas"] == 2


@pytest.mark.promise("Packaging", "The bases of the tree work without the components.")
@pytest.mark.control_plane
def test_bases_work_without_the_parts_that_can_be_left_out(tmp_path: Path) -> None:
    write(tmp_path, kustomize_files(FULL))
    bare = replace(FULL, metrics=False, service_monitor=False, webhooks=(), conversions=(), network_policy=False)
    expected = wanted(bare)
    found = by_name(yaml.safe_load_all(kustomize(tmp_path / "manager")))
    assert found == {key: expected[key] for key in found}
    assert "Deployment foo-operator-system/foo-operator" in found
    definitions = by_name(yaml.safe_load_all(kustomize(tmp_path / "crd")))
    plain = {key: one for key, one in expected.items() if "CustomResourceDefinition" in key}
    for conversion in FULL.conversions:  # who converts is said where it is known: in default, or by the operator
        info = info_of(conversion.kind)
        said = plain[f"CustomResourceDefinition /{info.plural}.{info.group}"]["spec"].pop("conversion")
        assert said == {"strategy": "None"}
    assert definitions == plain


def test_the_image_is_replaced_by_the_name_that_kubebuilder_uses(tmp_path: Path) -> None:
    write(tmp_path, kustomize_files(PROJECTS["settings"]))
    manager = yaml.safe_load((tmp_path / "manager" / "manager.yaml").read_text())
    assert manager["spec"]["template"]["spec"]["containers"][0]["image"] == "controller:latest"
    images = yaml.safe_load((tmp_path / "manager" / "kustomization.yaml").read_text())["images"]
    assert [(one["name"], one["newName"]) for one in images] == [("controller", "localhost:5000/team/foo")]


@pytest.mark.control_plane
def test_an_overlay_may_change_what_the_tree_puts_together(tmp_path: Path) -> None:
    """The example of the documentation, and the image under the name that it has by then."""
    page = (Path(__file__).parents[2] / "docs" / "packaging.md").read_text()
    overlay = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    overlay["patches"][0]["target"]["name"] = FULL.name
    overlay["images"] = [{"name": "foo-operator", "newTag": "2.0.0"}]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    write(tmp_path / "config", kustomize_files(FULL))
    expected = wanted(replace(FULL, image="foo-operator:2.0.0"))
    pod = expected["Deployment foo-operator-system/foo-operator"]["spec"]["template"]["spec"]
    pod["priorityClassName"] = "system-cluster-critical"
    assert by_name(yaml.safe_load_all(kustomize(tmp_path / "mine"))) == expected


@pytest.mark.promise("Packaging", "Packages are the same bytes each time, and drift is found.")
@pytest.mark.parametrize("files_of", [kustomize_files, chart_files])
def test_files_are_the_same_each_time_and_carry_the_mark(files_of: Any, tmp_path: Path) -> None:
    first: list[File] = files_of(FULL)
    assert first == files_of(FULL)
    assert [file.path for file in first if MARK not in file.text.partition("\n")[0]] == []
    write(tmp_path, first)
    assert compare(tmp_path, files_of(FULL)) == []
    assert {drift.what for drift in compare(tmp_path, files_of(project()))} == {"changed", "stale"}


@pytest.mark.parametrize("of", PROJECTS.values(), ids=PROJECTS.keys())
def test_every_file_of_the_tree_is_in_a_folder_of_its_own(of: Project) -> None:
    assert {file.path.partition("/")[0] for file in kustomize_files(of)} <= KUSTOMIZE_FOLDERS


def test_the_tree_has_the_definitions_where_the_command_alone_puts_them() -> None:
    from kubewright.crd import crds_of

    paths = {file.path for file in crd_files(crds_of(*(FULL.kinds or ())))}
    assert paths <= {file.path for file in kustomize_files(FULL)}
