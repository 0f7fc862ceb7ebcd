"""What is packaged is accepted by a real API server, without a warning, and does there what it should."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import kubewright as kw
from kubewright.api import apps, to_dict
from kubewright.manifests import Project, chart_files, kustomize_files, objects, write
from kubewright.testing import ControlPlane
from kubewright.testing.binaries import download_module
from tests.manifests.helm import BUILD_SECONDS, helm
from tests.manifests.projects import FULL, operator
from tests.patience import PATIENCE

# Others' kinds, as they publish them.
FOREIGN = {
    ("github.com/prometheus-operator/prometheus-operator", "v0.82.0"): [
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
    ],
    ("github.com/cert-manager/cert-manager", "v1.17.1"): [
        "deploy/crds/crd-certificates.yaml",
        "deploy/crds/crd-issuers.yaml",
    ],
}
PACKAGED = replace(FULL, operator=operator("packaged"), namespace="", certificate_secret="", image="")


class Kubectl:
    """kubectl as an administrator. What it prints as a warning fails the test."""

    def __init__(self, plane: ControlPlane) -> None:
        self._command: list[str | Path] = [plane.binaries / "kubectl", "--kubeconfig", plane.kubeconfig]

    def __call__(self, *arguments: str | Path, stdin: str | None = None) -> str:
        done = self.attempt(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    def attempt(self, *arguments: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [*self._command, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def kubectl(control_plane: ControlPlane) -> Iterator[Kubectl]:
    """kubectl, and a server that knows the kinds of cert-manager and of the Prometheus operator."""
    run = Kubectl(control_plane)
    foreign = []
    for (module, version), files in FOREIGN.items():
        folder = download_module(module, version)
        for file in files:
            definition = yaml.safe_load((folder / file).read_text())
            definition["metadata"].pop("labels", None)  # cert-manager's are Helm's to fill in
            foreign.append(definition)
    run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump_all(foreign))
    names = [f"crd/{one['metadata']['name']}" for one in foreign]
    run("wait", "--for=condition=Established", f"--timeout={PATIENCE:g}s", *names)
    yield run
    # The server belongs to other tests too, some of which bring the same kinds.
    for kind in ("validatingwebhookconfiguration", "mutatingwebhookconfiguration"):
        run("delete", kind, "packaged", "--ignore-not-found")
    own = [f"crd/{one.metadata.name}" for one in objects(PACKAGED) if one.kind == "CustomResourceDefinition"]
    run("delete", "--ignore-not-found", "--wait=false", *names, *own, "crd/parcels.released.example.com")


def deploy(kubectl: Kubectl, folder: Path, project: Project) -> str:
    write(folder, kustomize_files(project))
    return kubectl("apply", "--server-side", "--force-conflicts", "-k", folder / "default")


@pytest.fixture(scope="module")
def packaged(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The project with everything, deployed; what kubectl says about that."""
    return deploy(kubectl, tmp_path_factory.mktemp("packaged"), PACKAGED)


@pytest.mark.promise(
    "Packaging",
    "A real server takes every object without a warning, also those of cert-manager and the Prometheus operator.",
)
@pytest.mark.promise(
    "The certificate of the webhooks",
    "cert-manager's definitions accept what is generated, and its injector does what the annotations ask for.",
)
def test_every_object_is_accepted_without_a_warning(kubectl: Kubectl, packaged: str, tmp_path: Path) -> None:
    assert packaged.count("serverside-applied") == len(objects(PACKAGED))
    assert "servicemonitor.monitoring.coreos.com/packaged-metrics" in packaged
    with_cert_manager = replace(PACKAGED, certificates="cert-manager")
    assert "certificate.cert-manager.io/packaged-webhook" in deploy(kubectl, tmp_path, with_cert_manager)
    # Nothing is left out on the way: the server keeps every field that was sent.
    for kind, name in (
        ("Issuer", "packaged-webhook-root"),
        ("Certificate", "packaged-webhook-ca"),
        ("Issuer", "packaged-webhook-ca"),
        ("Certificate", "packaged-webhook"),
    ):
        stored = yaml.safe_load(kubectl("get", kind, name, "-n", PACKAGED.namespace, "-o", "yaml"))
        sent = (one for one in objects(with_cert_manager) if (one.kind, one.metadata.name) == (kind, name))
        assert stored["spec"] == to_dict(next(sent))["spec"]
    annotations = yaml.safe_load(kubectl("get", "crd", "bars.packages.example.com", "-o", "yaml"))["metadata"]
    assert annotations["annotations"]["cert-manager.io/inject-ca-from"] == "packaged-system/packaged-webhook"


@pytest.mark.promise("Packaging", "The manager may run where only restricted pods may.")
@pytest.mark.usefixtures("packaged")
def test_the_manager_may_run_where_only_restricted_pods_may(kubectl: Kubectl) -> None:
    namespace = yaml.safe_load(kubectl("get", "namespace", PACKAGED.namespace, "-o", "yaml"))
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    deployment = next(one for one in objects(PACKAGED) if isinstance(one, apps.Deployment))
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "manager", "namespace": PACKAGED.namespace},
        "spec": to_dict(deployment.spec.template.spec),
    }
    create = ("create", "--dry-run=server", "-o", "name", "-f", "-")
    assert kubectl(*create, stdin=yaml.safe_dump(pod)) == "pod/manager\n"
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    refused = kubectl.attempt(*create, stdin=yaml.safe_dump(pod))
    assert 'violates PodSecurity "restricted:latest"' in refused.stderr


@pytest.mark.promise("Packaging", "A self-managed certificate opens one Secret and the operator's own webhooks.")
@pytest.mark.usefixtures("packaged")
def test_a_certificate_of_its_own_opens_one_secret_and_its_own_webhooks(control_plane: ControlPlane) -> None:
    def may(verb: str, group: str, resource: str, name: str, namespace: str = "") -> bool:
        attributes = {"verb": verb, "group": group, "resource": resource, "name": name, "namespace": namespace}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": "system:serviceaccount:packaged-system:packaged", "resourceAttributes": attributes},
        }
        answer = control_plane.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        allowed: bool = answer["status"]["allowed"]
        return allowed

    own, admission = "packaged-system", "admissionregistration.k8s.io"
    assert may("patch", "", "secrets", "packaged-webhook-certificate", own)
    assert not may("update", "", "secrets", "packaged-webhook-certificate", own)
    assert not may("delete", "", "secrets", "packaged-webhook-certificate", own)
    assert may("create", "", "secrets", "", own)
    assert not may("get", "", "secrets", "others", own)
    assert not may("get", "", "secrets", "packaged-webhook-certificate", "default")
    assert may("patch", admission, "validatingwebhookconfigurations", "packaged")
    assert may("patch", admission, "mutatingwebhookconfigurations", "packaged")
    assert not may("patch", admission, "validatingwebhookconfigurations", "others")
    assert may("patch", "apiextensions.k8s.io", "customresourcedefinitions", "bars.packages.example.com")
    assert not may("patch", "apiextensions.k8s.io", "customresourcedefinitions", "foos.packages.example.com")
    assert may("update", "coordination.k8s.io", "leases", "packaged", own)


@pytest.mark.promise("Packaging", "A confined operator has roles where it looks, and nowhere else.")
def test_an_operator_that_is_confined_has_roles_where_it_looks_and_nowhere_else(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    teams = ["confined-a", "confined-b"]
    for team in teams:
        kubectl("create", "namespace", team)
    project = Project(operator=operator("confined", namespaces=teams), target="foo.py")
    deploy(kubectl, tmp_path, project)
    roles = kubectl("get", "roles", "--all-namespaces", "--field-selector", "metadata.name=confined", "-o", "json")
    assert [one["metadata"]["namespace"] for one in json.loads(roles)["items"]] == [*teams, "confined-system"]
    assert kubectl("get", "clusterrole", "confined", "--ignore-not-found") == ""


class Spec(kw.Model):
    size: int = 1


@kw.resource("released.example.com/v1")
class Parcel(kw.Resource[Spec, None]):
    """A kind that comes with a release."""


@pytest.mark.promise("Packaging", "Definitions are upgraded with a release, and survive it.")
@pytest.mark.timeout(BUILD_SECONDS)
def test_helm_installs_upgrades_and_uninstalls(kubectl: Kubectl, control_plane: ControlPlane, tmp_path: Path) -> None:
    made = kw.Operator("released")

    @made.reconciles(Parcel)
    async def sync(obj: Parcel, ctx: kw.Context[Parcel]) -> None: ...

    project = Project(operator=made, target="released.py", network_policy=True)
    chart = tmp_path / "chart"
    write(chart, chart_files(project))
    there = ("--kubeconfig", control_plane.kubeconfig, "--namespace", "released-here")

    installed = helm("install", "released", chart, *there, "--create-namespace", cache=tmp_path)
    assert installed.returncode == 0, installed.stderr
    assert installed.stderr == ""
    notes = installed.stdout.partition("NOTES:\n")[2]
    assert notes.startswith("released 0.1.0 runs as released in released-here:\n")
    assert "rollout status deployment/released" in notes
    assert "Its definitions stay when it is uninstalled" in notes
    assert "kubectl label namespace MONITORING metrics=enabled" in notes

    upgraded = helm("upgrade", "released", chart, *there, "--set", "replicas=2", cache=tmp_path)
    assert upgraded.returncode == 0, upgraded.stderr
    found = kubectl("get", "deployment,poddisruptionbudget", "-n", "released-here", "-o", "name").split()
    assert found == ["deployment.apps/released", "poddisruptionbudget.policy/released"]

    removed = helm("uninstall", "released", *there, cache=tmp_path)
    assert removed.returncode == 0, removed.stderr
    assert kubectl("get", "clusterrole", "released", "--ignore-not-found") == ""
    kept = kubectl("get", "crd", "parcels.released.example.com", "-o", "name")
    assert kept == "customresourcedefinition.apiextensions.k8s.io/parcels.released.example.com\n"
