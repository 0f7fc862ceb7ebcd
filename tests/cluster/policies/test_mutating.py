"""Mutating policies in the embedded cluster: what the scenarios beside the real server cannot show."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import apps
from kubewright.client import ApiError, Transport
from kubewright.cluster import Cluster
from tests.cluster.policies.test_policies import GROUP, post

DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*/*"]}
CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}


async def bind(transport: Transport, name: str, expression: str, rule: dict[str, Any], **spec: Any) -> None:
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    made = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [mutation],
        "reinvocationPolicy": "Never",
        **spec,
    }
    policy = {"kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": made}
    binding = {"kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": {"policyName": name}}
    for plural, body in (("mutatingadmissionpolicies", policy), ("mutatingadmissionpolicybindings", binding)):
        status, answer = await post(transport, f"{GROUP}/{plural}", body)
        assert status == 201, answer


async def test_policies_are_asked_by_their_names_and_once_more_after_later_changes() -> None:
    seen = "Object{data: {'first': string(has(object.data.second))}}"
    async with Cluster(controllers=False) as cluster:
        transport = cluster.transport()
        await bind(transport, "a", seen, CONFIG_MAPS, reinvocationPolicy="IfNeeded")
        await bind(transport, "b", "Object{data: {'second': 'yes'}}", CONFIG_MAPS)
        config_map = {"kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"x": "1"}}
        status, made = await post(transport, "/api/v1/namespaces/default/configmaps", config_map)
    assert (status, made["data"]) == (201, {"x": "1", "second": "yes", "first": "true"})


async def test_a_policy_about_a_scale_is_refused_with_the_reason() -> None:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    async with Cluster(controllers=False) as cluster:
        transport = cluster.transport()
        status, _ = await post(transport, "/apis/apps/v1/namespaces/default/deployments", deployment)
        assert status == 201
        await bind(transport, "a", "Object{}", DEPLOYMENTS)
        with pytest.raises(ApiError, match="does not support mutating policies about deployments/scale"):
            await cluster.client().set_scale(apps.Deployment, "web", 3, "default")
