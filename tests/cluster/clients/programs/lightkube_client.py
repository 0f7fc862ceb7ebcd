# mypy: ignore-errors
# Written as its users write: the types of the client are not ours to check.
"""What a script with lightkube does: KUBECONFIG and NAMESPACE say where. It prints what it sees."""

from __future__ import annotations

import os

from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.core_v1 import Container, ObjectReference, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Event, Pod
from lightkube.types import CascadeType, PatchType

NAMESPACE = os.environ["NAMESPACE"]


def main() -> None:
    client = Client(namespace=NAMESPACE, field_manager="script")
    config_maps(client)
    workloads(client)
    custom_objects(client)
    events(client)


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels={"app": name[0]}), data=data)


def config_maps(client: Client) -> None:
    made = client.create(config_map("a1", k="v"))
    assert made.metadata is not None
    for name in ("a2", "b1"):
        client.create(config_map(name, k="v"))
    print("selected", [item.metadata.name for item in client.list(ConfigMap, labels={"app": "a"}) if item.metadata])
    print("paged", len(list(client.list(ConfigMap, labels={"app": ["a", "b"]}, chunk_size=2))))
    print("merged", client.patch(ConfigMap, "a1", {"data": {"l": "m"}}, patch_type=PatchType.MERGE).data)
    print("strategic", client.patch(ConfigMap, "a1", {"data": {"l": None}}).data)
    operations = [{"op": "add", "path": "/data/x", "value": "y"}]
    print("operations", client.patch(ConfigMap, "a1", operations, patch_type=PatchType.JSON).data)
    refused(lambda: client.apply(config_map("a1", k="other"), field_manager="other"))
    applied = client.apply(config_map("a1", k="other"), field_manager="other", force=True)
    assert applied.metadata is not None
    managers = [(each.manager, each.operation) for each in applied.metadata.managedFields or ()]
    print("applied", applied.data, managers)
    applied.data = {"k": "replaced"}
    print("replaced", client.replace(applied).data)
    refused(lambda: client.replace(applied))
    refused(lambda: client.get(ConfigMap, "absent"))
    client.delete(ConfigMap, "a2")
    client.delete(ConfigMap, "a1")
    client.delete(ConfigMap, "b1")
    for change, item in client.watch(
        ConfigMap, resource_version=made.metadata.resourceVersion, labels={"app": ["a", "b"]}
    ):
        assert item.metadata is not None
        print("seen", change, item.metadata.name, item.data)
        if change == "DELETED" and item.metadata.name == "b1":
            break


def workloads(client: Client) -> None:
    labels = {"app": "web"}
    pod = PodTemplateSpec(
        metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="web", image="web:1")])
    )
    spec = DeploymentSpec(replicas=2, selector=LabelSelector(matchLabels=labels), template=pod)
    client.create(Deployment(metadata=ObjectMeta(name="web"), spec=spec))
    done = client.wait(Deployment, "web", for_conditions=["Available"])
    assert done.status is not None
    print("available", done.status.availableReplicas)
    scale = Deployment.Scale(metadata=ObjectMeta(name="web", namespace=NAMESPACE), spec=ScaleSpec(replicas=1))
    print("scale", client.replace(scale, "web").spec)
    for _, item in client.watch(Deployment, fields={"metadata.name": "web"}):
        assert item.status is not None
        if item.status.replicas == item.status.readyReplicas == 1:
            break
    pods = client.list(Pod, labels=labels, fields={"status.phase": "Running"})
    print("pods", {each.spec.nodeName for each in pods if each.spec})
    client.delete(Deployment, "web", cascade=CascadeType.FOREGROUND)


def custom_objects(client: Client) -> None:
    group = f"{NAMESPACE}.test"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "metadata": {"name": f"toys.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Toy", "plural": "toys"},
            "versions": [version | {"subresources": {"status": {}}}],
        },
    }
    client.create(CustomResourceDefinition.from_dict(definition))
    client.wait(CustomResourceDefinition, f"toys.{group}", for_conditions=["Established"])
    toy = create_namespaced_resource(group, "v1", "Toy", "toys")
    client.create(toy(metadata=ObjectMeta(name="car"), spec={"wheels": 4}))
    client.patch(toy.Status, "car", {"status": {"broken": True}}, patch_type=PatchType.MERGE)
    found = client.apply(toy(metadata=ObjectMeta(name="car"), spec={"color": "red"}), field_manager="painter")
    print("custom", dict(sorted(found["spec"].items())), found["status"])
    client.delete(toy, "car")
    client.delete(CustomResourceDefinition, f"toys.{group}")


def events(client: Client) -> None:
    about = ObjectReference(kind="ConfigMap", name="a1", namespace=NAMESPACE)
    metadata = ObjectMeta(name="recorded")
    event = Event(metadata=metadata, involvedObject=about, reason="Tried", message="a script was here", type="Normal")
    client.create(event)
    print("events", [each.message for each in client.list(Event, fields={"reason": "Tried"})])


def refused(call: object) -> None:
    assert callable(call)
    try:
        call()
    except ApiError as error:
        print("refused", error.status.code, error.status.reason, error.status.message)


main()
