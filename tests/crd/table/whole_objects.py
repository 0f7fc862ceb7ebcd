"""Whole objects, and Kubernetes' own types."""

from typing import Annotated

import kubewright as kw
from kubewright.api import JSON, core, meta
from tests.crd.table.case import Bad, case

# Whole objects and Kubernetes' own types
case(
    "embedded JSON",
    Annotated[dict[str, JSON], kw.EmbeddedResource()],
    good=[{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}],
    bad=[Bad({"kind": "ConfigMap"}, ["spec.value.apiVersion"]), Bad({"apiVersion": "v1"}, ["spec.value.kind"])],
)
case(
    "embedded kind",
    Annotated[core.ConfigMap, kw.EmbeddedResource()],
    good=[
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"a": "b"}}, "data": {"a": "b"}}
    ],
    bad=[Bad({}, ["spec.value.apiVersion", "spec.value.kind"])],
)
case(
    "kind inside",
    core.ConfigMap,
    good=[{"metadata": {"name": "a"}, "data": {"a": "b"}}],
    bad=[Bad({"data": 1}, ["spec.value.data"])],
)
case(
    "ObjectMeta inside",
    meta.ObjectMeta,
    good=[{"labels": {"a": "b"}}],
    bad=[Bad({"labels": {"a": 1}}, ["spec.value.labels.a"])],
)
case(
    "LabelSelector",
    meta.LabelSelector,
    good=[{"matchLabels": {"a": "b"}}],
    bad=[Bad({"matchLabels": []}, ["spec.value.matchLabels"])],
)
case(
    "Condition",
    meta.Condition,
    good=[],
    bad=[
        Bad(
            {"type": 1},
            [
                "spec.value.message",
                "spec.value.reason",
                "spec.value.status",
                "spec.value.type",
            ],
        )
    ],
)
case(
    "ResourceRequirements",
    core.ResourceRequirements,
    good=[{"limits": {"cpu": "1"}, "requests": {"memory": 1}}],
    bad=[Bad({"limits": {"cpu": "x y"}}, ["spec.value.limits.cpu"])],
)
case(
    "SecretKeySelector",
    core.SecretKeySelector,
    good=[{"name": "a", "key": "b"}],
    bad=[Bad({"name": "a"}, ["spec.value.key"])],
)
case("Container", core.Container, good=[{"name": "a", "image": "b"}], bad=[Bad({"image": "b"}, ["spec.value.name"])])
case("EnvVar list", list[core.EnvVar], good=[[{"name": "a", "value": "b"}]], bad=[Bad([{}], ["spec.value[0].name"])])
case("Volume", core.Volume, good=[{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}], bad=[Bad({}, ["spec.value.name"])])
case(
    "Affinity", core.Affinity, good=[{"nodeAffinity": {}}], bad=[Bad({"nodeAffinity": 1}, ["spec.value.nodeAffinity"])]
)
case("Toleration list", list[core.Toleration], good=[[{"key": "a"}]], bad=[Bad([{"key": 1}], ["spec.value[0].key"])])
case(
    "PodTemplateSpec",
    core.PodTemplateSpec,
    good=[
        {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}}
    ],
    bad=[
        Bad({"spec": {"containers": [{"image": "b"}]}}, ["spec.value.spec.containers[0].name"]),
        Bad({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}, ["spec.value.spec.containers[1]"]),
    ],
)
case(
    "PersistentVolumeClaim list",
    list[core.PersistentVolumeClaim],
    good=[[{"metadata": {"name": "a"}, "spec": {}}]],
    bad=[1],
)
