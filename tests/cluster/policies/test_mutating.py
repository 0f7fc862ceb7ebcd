"""Mutating policies of the embedded cluster that the differential scenarios cannot cover."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import apps
from kubewright.client import ApiError, Transport
from kubewright.cluster import Cluster
from tests.cluster.policies.test_policies import GROUP, post

DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*/*"]}
CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}


async def bind(
    transport: Transport,
    name: str,
    expression: str,
    rule: dict[str, Any],
    *,
    parameters: dict[str, Any] | None = None,
    **spec: Any,
) -> None:
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    made = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [mutation],
        "reinvocationPolicy": "Never",
        **spec,
    }
    policy = {"kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": made}
    bound = {"policyName": name} | ({"paramRef": parameters} if parameters else {})
    binding = {"kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": bound}
    for plural, body in (("mutatingadmissionpolicies", policy), ("mutatingadmissionpolicybindings", binding)):
        status, answer = await post(transport, f"{GROUP}/{plural}", body)
        assert status == 201, answer


async def test_policies_run_by_name_and_are_reinvoked_after_changes() -> None:
    seen = "Object{data: {'first': string(has(object.data.second))}}"
    async with Cluster(controllers=False) as cluster:
        transport = cluster.transport()
        await bind(transport, "a", seen, CONFIG_MAPS, reinvocationPolicy="IfNeeded")
        await bind(transport, "b", "Object{data: {'second': 'yes'}}", CONFIG_MAPS)
        config_map = {"kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"x": "1"}}
        status, made = await post(transport, "/api/v1/namespaces/default/configmaps", config_map)
    assert (status, made["data"]) == (201, {"x": "1", "second": "yes", "first": "true"})


async def test_rejects_mutation_of_a_scale() -> None:
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


MAPS = "/api/v1/namespaces/default/configmaps"


async def make_map(transport: Transport, name: str, labels: dict[str, str], data: dict[str, str]) -> tuple[int, Any]:
    return await post(
        transport, MAPS, {"kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": data}
    )


async def test_mutates_once_for_each_parameter() -> None:
    """Not compared with the real server: deleting such a policy there breaks the informer of validating policies."""
    marked = "Object{data: {params.metadata.name: params.data.mark}}"
    conditions = [{"name": "not-a-parameter", "expression": "!has(object.metadata.labels)"}]
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    async with Cluster(controllers=False) as cluster:
        transport = cluster.transport()
        for name, mark in (("one", "1"), ("two", "2")):
            status, _ = await make_map(transport, name, {"parameters": "some"}, {"mark": mark})
            assert status == 201
        await bind(
            transport,
            "each",
            marked,
            CONFIG_MAPS,
            paramKind=kind,
            matchConditions=conditions,
            parameters={
                "selector": {"matchLabels": {"parameters": "some"}},
                "parameterNotFoundAction": "Deny",
            },
        )
        await bind(
            transport,
            "missing",
            marked,
            CONFIG_MAPS,
            paramKind=kind,
            matchConditions=conditions,
            parameters={"name": "missing", "parameterNotFoundAction": "Allow"},
        )
        status, made = await make_map(transport, "changed", {}, {"own": "x"})
        assert (status, made["data"]) == (201, {"own": "x", "one": "1", "two": "2"})
        await bind(
            transport,
            "needed",
            marked,
            CONFIG_MAPS,
            paramKind=kind,
            matchConditions=conditions,
            parameters={"name": "missing", "parameterNotFoundAction": "Deny"},
        )
        status, refused = await make_map(transport, "refused", {}, {"own": "x"})
        assert status == 403
        assert "no params found for policy binding with `Deny` parameterNotFoundAction" in refused["message"]
