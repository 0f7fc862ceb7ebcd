"""client-go's own example controller does on the embedded cluster what its README says it does."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubewright.api import Untyped, apps, core, meta
from kubewright.api.apiextensions import CustomResourceDefinition
from kubewright.client import Client, MergePatch, NotFound
from kubewright.cluster import Cluster
from tests.cluster.clients.go_programs import BUILD_SECONDS, example, sample_controller
from tests.cluster.clients.processes import eventually, running

NAMESPACE = "default"
NAME = "example-foo"
Foo = Untyped.kind_of("samplecontroller.k8s.io/v1alpha1", "Foo", plural="foos", subresources=frozenset({"status"}))


@pytest.mark.control_plane  # built with Go
@pytest.mark.promise("The embedded cluster", "A controller made with client-go runs on it.")
@pytest.mark.timeout(BUILD_SECONDS + 120)
async def test_the_sample_controller_runs_on_the_embedded_cluster(served: Cluster, tmp_path: Path) -> None:
    program = sample_controller()
    client = served.client()
    await created(client, "crd-status-subresource.yaml", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    definition = await client.get(CustomResourceDefinition, "foos.samplecontroller.k8s.io")
    assert {each.type for each in definition.status.conditions or () if each.status == "True"} >= {"Established"}
    async with running(program, f"-kubeconfig={served.kubeconfig()}", environment={"HOME": str(tmp_path)}):
        foos = f"/apis/samplecontroller.k8s.io/v1alpha1/namespaces/{NAMESPACE}/foos"
        await created(client, "example-foo.yaml", foos)
        await eventually(lambda: available(client, 1))
        deployment = await client.get(apps.Deployment, NAME, NAMESPACE)
        assert [owner.kind for owner in deployment.metadata.owner_references] == ["Foo"]
        assert deployment.status.available_replicas == 1
        assert await eventually(lambda: event_message(client, "Synced")) == "Foo synced successfully"

        await client.patch(Foo, NAME, MergePatch({"spec": {"replicas": 3}}), NAMESPACE)
        await eventually(lambda: available(client, 3))

        # It undoes another client's change to an object that it controls.
        await client.patch(apps.Deployment, NAME, MergePatch({"spec": {"replicas": 5}}), NAMESPACE)
        await eventually(lambda: replicas(client, 3))

        # It does not change an object that it does not control, and records an event.
        await client.create(foreign := foreign_deployment(deployment))
        other = {"metadata": {"name": "other"}, "spec": {"deploymentName": foreign.metadata.name, "replicas": 1}}
        kind = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo"}
        await client.request("POST", foos, body=kind | other)
        message = await eventually(lambda: event_message(client, "ErrResourceExists"))
        assert message == f'Resource "{foreign.metadata.name}" already exists and is not managed by Foo'

        await client.delete(Foo, NAME, NAMESPACE)
        await eventually(lambda: gone(client))
        assert (await client.get(apps.Deployment, foreign.metadata.name, NAMESPACE)).metadata.owner_references == []


async def created(client: Client, file: str, path: str) -> None:
    await client.request("POST", path, body=yaml.safe_load(example(file)))


def foreign_deployment(model: apps.Deployment) -> apps.Deployment:
    made = apps.Deployment(metadata=meta.ObjectMeta(name="foreign", namespace=NAMESPACE), spec=model.spec)
    made.spec.replicas = 0
    return made


async def available(client: Client, wanted: int) -> bool | None:
    foo = await client.get(Foo, NAME, NAMESPACE)
    return True if foo.content.get("status", {}).get("availableReplicas") == wanted else None


async def replicas(client: Client, wanted: int) -> bool | None:
    found = await client.get(apps.Deployment, NAME, NAMESPACE)
    return True if found.spec.replicas == wanted else None


async def event_message(client: Client, reason: str) -> str | None:
    found = await client.list(core.Event, NAMESPACE, fields=f"reason={reason}")
    return next((each.message for each in found if each.source and each.source.component == "sample-controller"), None)


async def gone(client: Client) -> bool | None:
    """Whether everything that belonged to the Foo is gone."""
    try:
        await client.get(apps.Deployment, NAME, NAMESPACE)
    except NotFound:
        return True if not await client.list(core.Pod, NAMESPACE) else None
    return None
