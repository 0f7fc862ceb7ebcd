# mypy: ignore-errors
# Written as its users write: the types of the client are not ours to check.
"""What a script with the official client does: KUBECONFIG and NAMESPACE say where. It prints what it sees."""

from __future__ import annotations

import json
import os
from typing import Any

import kubernetes
from kubernetes.client import ApiException
from kubernetes.dynamic import DynamicClient

NAMESPACE = os.environ["NAMESPACE"]
PATIENCE = 200
"""Seconds, as in `tests/patience.py`, which a script of a user does not import."""


def main() -> None:
    kubernetes.config.load_kube_config()
    core, apps = kubernetes.client.CoreV1Api(), kubernetes.client.AppsV1Api()
    print(kubernetes.client.VersionApi().get_code().minor)
    config_maps(core)
    workloads(core, apps)
    custom_objects()
    dynamic()
    events(core)


def config_map(name: str, **data: str) -> Any:
    metadata = kubernetes.client.V1ObjectMeta(name=name, labels={"app": name[0]})
    return kubernetes.client.V1ConfigMap(metadata=metadata, data=data)


def config_maps(core: Any) -> None:
    """Every verb, pages, selectors, a watch from a revision, and what is refused."""
    made = core.create_namespaced_config_map(NAMESPACE, config_map("a1", k="v"))
    print("created", made.metadata.name, made.data, made.metadata.managed_fields[0].manager)
    for name in ("a2", "b1"):
        core.create_namespaced_config_map(NAMESPACE, config_map(name, k="v"))
    start = made.metadata.resource_version
    print(
        "selected",
        [item.metadata.name for item in core.list_namespaced_config_map(NAMESPACE, label_selector="app=a").items],
    )
    page = core.list_namespaced_config_map(NAMESPACE, label_selector="app", limit=2)
    rest = core.list_namespaced_config_map(NAMESPACE, label_selector="app", limit=2, _continue=page.metadata._continue)
    print("pages", [[item.metadata.name for item in part.items] for part in (page, rest)])
    core.patch_namespaced_config_map("a1", NAMESPACE, {"data": {"k": "w", "l": "m"}})
    core.patch_namespaced_config_map("a1", NAMESPACE, [{"op": "remove", "path": "/data/l"}])
    read = core.read_namespaced_config_map("a1", NAMESPACE)
    read.data["n"] = "o"
    print("replaced", core.replace_namespaced_config_map("a1", NAMESPACE, read).data)
    refused(lambda: core.replace_namespaced_config_map("a1", NAMESPACE, read))
    refused(lambda: core.create_namespaced_config_map(NAMESPACE, config_map("a1")))
    refused(lambda: core.read_namespaced_config_map("absent", NAMESPACE))
    refused(lambda: core.create_namespaced_config_map(NAMESPACE, config_map("Not_A_Name")))
    print("deleted", core.delete_namespaced_config_map("a2", NAMESPACE)["status"])
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="app")
    watch = kubernetes.watch.Watch()
    for event in watch.stream(
        core.list_namespaced_config_map,
        NAMESPACE,
        label_selector="app",
        resource_version=start,
        timeout_seconds=PATIENCE,
    ):
        print("seen", event["type"], event["object"].metadata.name, event["object"].data)
        if event["type"] == "DELETED" and event["object"].metadata.name == "b1":
            watch.stop()


def workloads(core: Any, apps: Any) -> None:
    """A Deployment that becomes available, and its size."""
    client = kubernetes.client
    container = client.V1Container(name="web", image="web:1")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": "web"}), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(
        replicas=2, selector=client.V1LabelSelector(match_labels={"app": "web"}), template=template
    )
    apps.create_namespaced_deployment(
        NAMESPACE, client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    )
    wait_for(apps, 2)
    scale = apps.read_namespaced_deployment_scale("web", NAMESPACE)
    print("scale", scale.spec.replicas, scale.status.replicas, scale.status.selector)
    apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 1}})
    wait_for(apps, 1)
    pods = core.list_namespaced_pod(NAMESPACE, field_selector="status.phase=Running", label_selector="app=web")
    print("pods", {(pod.status.phase, pod.spec.node_name, pod.metadata.owner_references[0].kind) for pod in pods.items})
    apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Foreground")


def wait_for(apps: Any, available: int) -> None:
    watch = kubernetes.watch.Watch()
    for event in watch.stream(apps.list_namespaced_deployment, NAMESPACE, timeout_seconds=PATIENCE):
        status = event["object"].status
        if status.available_replicas == available and status.replicas == available:
            print("available", available, sorted((each.type, each.status) for each in status.conditions))
            watch.stop()


def custom_objects() -> None:
    """A kind of our own, without classes."""
    group = f"{NAMESPACE}.test"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": "Toy", "plural": "toys"},
        "versions": [version | {"subresources": {"status": {}}}],
    }
    definitions = kubernetes.client.ApiextensionsV1Api()
    definitions.create_custom_resource_definition({"metadata": {"name": f"toys.{group}"}, "spec": spec})
    watch = kubernetes.watch.Watch()
    for event in watch.stream(
        definitions.list_custom_resource_definition,
        field_selector=f"metadata.name=toys.{group}",
        timeout_seconds=PATIENCE,
    ):
        conditions = event["object"].status.conditions or ()
        if any(each.type == "Established" and each.status == "True" for each in conditions):
            watch.stop()
    toys, place = kubernetes.client.CustomObjectsApi(), (group, "v1", NAMESPACE, "toys")
    toy = {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "car"}, "spec": {"wheels": 4}}
    print("custom", toys.create_namespaced_custom_object(*place, toy)["spec"])
    toys.patch_namespaced_custom_object(*place, "car", {"spec": {"wheels": 3}})
    toys.patch_namespaced_custom_object_status(*place, "car", {"status": {"broken": True}})
    found = toys.get_namespaced_custom_object(*place, "car")
    print("custom", found["spec"], found["status"], found["metadata"]["generation"])
    print("custom", toys.delete_namespaced_custom_object(*place, "car")["status"])
    definitions.delete_custom_resource_definition(f"toys.{group}")


def dynamic() -> None:
    """The dynamic client, which finds kinds by discovery, and applies on the server."""
    client = DynamicClient(kubernetes.client.ApiClient())
    services = client.resources.get(api_version="v1", kind="Service")
    print("discovered", services.name, services.namespaced, sorted(services.verbs))
    ports = [{"name": "web", "port": 80, "protocol": "TCP"}]
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": ports}}
    applied = client.server_side_apply(services, body, namespace=NAMESPACE, field_manager="script")
    print("applied", applied.spec.type, applied.spec.ports[0].targetPort, applied.metadata.managedFields[0].operation)
    body["spec"] = {"ports": [ports[0] | {"targetPort": 8080}]}
    refused(lambda: client.server_side_apply(services, body, namespace=NAMESPACE, field_manager="other"))
    services.delete(name="web", namespace=NAMESPACE)


def events(core: Any) -> None:
    """An event by itself, found by what it is about."""
    body = {
        "metadata": {"name": "recorded"},
        "involvedObject": {"kind": "ConfigMap", "name": "a1", "namespace": NAMESPACE},
        "reason": "Tried",
        "message": "a script was here",
        "type": "Normal",
    }
    core.create_namespaced_event(NAMESPACE, body)
    found = core.list_namespaced_event(NAMESPACE, field_selector="reason=Tried,involvedObject.name=a1")
    print("events", [(event.type, event.message) for event in found.items])


def refused(call: Any) -> None:
    try:
        call()
    except ApiException as error:
        print("refused", error.status, error.reason, json.loads(error.body))


main()
