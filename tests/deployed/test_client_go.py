"""A program that uses client-go runs as a pod: its own account, in-cluster configuration, and logs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubewright.api import Untyped
from kubewright.client import Client
from tests.cluster.clients.go_programs import BUILD_SECONDS, example
from tests.deployed.conftest import Local, available
from tests.patience import until

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(BUILD_SECONDS + 300)]  # built with Go

Foo = Untyped.kind_of("samplecontroller.k8s.io/v1alpha1", "Foo", plural="foos")
NAME = "sample-controller"
RULES = [
    {"apiGroups": ["samplecontroller.k8s.io"], "resources": ["foos", "foos/status"], "verbs": ["*"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]


def manifests() -> str:
    """Returns the account, the role and the Deployment of the controller."""
    meta = {"name": NAME, "namespace": "default"}
    labels = {"app": NAME}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}
    pod = {"serviceAccountName": NAME, "containers": [{"name": "controller", "image": f"{NAME}:v1"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    group = "rbac.authorization.k8s.io/v1"
    return yaml.safe_dump_all(
        [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
            {"apiVersion": group, "kind": "ClusterRole", "metadata": {"name": NAME}, "rules": RULES},
            {
                "apiVersion": group,
                "kind": "ClusterRoleBinding",
                "metadata": {"name": NAME},
                "roleRef": role,
                "subjects": [{"kind": "ServiceAccount", **meta}],
            },
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": meta,
                "spec": {"selector": {"matchLabels": labels}, "template": template},
            },
        ]
    )


@pytest.mark.promise("Pods as processes", "A controller made with client-go runs as a pod.")
async def test_sample_controller_runs_as_a_pod(local: Local, admin: Client, tmp_path: Path) -> None:
    for name, text in (
        ("definition.yaml", example("crd-status-subresource.yaml")),
        ("controller.yaml", manifests()),
    ):
        (tmp_path / name).write_text(text)
        await local.kubectl("apply", "-f", str(tmp_path / name))
    await available(admin, "default", NAME)
    (tmp_path / "foo.yaml").write_text(example("example-foo.yaml"))
    await local.kubectl("apply", "--namespace", "default", "-f", str(tmp_path / "foo.yaml"))

    async def reported() -> bool:
        foo = await admin.get(Foo, "example-foo", "default")
        return bool(foo.content.get("status", {}).get("availableReplicas") == 1)

    await until(reported, "the status of the Foo")
    log = await local.kubectl("logs", "--namespace", "default", f"deploy/{NAME}")
    assert "Successfully synced" in log
