"""Webhooks for the Operator Lifecycle Manager: as its ClusterServiceVersion has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
import yaml

from kubewright.api import Untyped, from_dict, to_dict
from kubewright.client import Client, NotFound
from kubewright.manifests import objects, webhook_definitions
from kubewright.testing.binaries import download_module
from tests.manifests.projects import FULL, WEBHOOKS
from tests.patience import until

# OLM can pass on neither namespace selectors nor match conditions.
SIMPLE = replace(
    FULL,
    webhooks=[
        WEBHOOKS[0],
        msgspec.structs.replace(WEBHOOKS[1], match_conditions=()),
        msgspec.structs.replace(WEBHOOKS[2], namespace_selector=None),
    ],
)


def test_each_webhook_and_each_converted_kind_has_an_entry() -> None:
    assert [(one["type"], one["generateName"]) for one in webhook_definitions(SIMPLE)] == [
        ("ConversionWebhook", "convert.bars.packages.example.com"),
        ("ConversionWebhook", "convert.zones.packages.example.com"),
        ("MutatingAdmissionWebhook", "default.foos.example.com"),
        ("ValidatingAdmissionWebhook", "guard.zones.example.com"),
        ("ValidatingAdmissionWebhook", "validate.foos.example.com"),
    ]


def test_entry_matches_declaration() -> None:
    conversion, _, mutating, _, _ = webhook_definitions(SIMPLE)
    assert mutating == {
        "type": "MutatingAdmissionWebhook",
        "admissionReviewVersions": ["v1"],
        "deploymentName": "foo-operator",
        "containerPort": 443,
        "targetPort": 9443,
        "webhookPath": "/default/foos",
        "generateName": "default.foos.example.com",
        "rules": [
            {
                "apiGroups": ["packages.example.com"],
                "apiVersions": ["v1"],
                "resources": ["foos"],
                "operations": ["CREATE"],
                "scope": "Namespaced",
            }
        ],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "objectSelector": {"matchLabels": {"managed": "yes"}},
        "reinvocationPolicy": "IfNeeded",
    }
    assert (conversion["conversionCRDs"], conversion["webhookPath"]) == (["bars.packages.example.com"], "/convert")


@pytest.mark.parametrize(
    ("webhook", "what"), [(WEBHOOKS[1], "match conditions"), (WEBHOOKS[2], "a namespace selector")]
)
def test_rejects_declarations_that_olm_does_not_support(webhook: Any, what: str) -> None:
    with pytest.raises(ValueError) as caught:
        webhook_definitions(replace(FULL, webhooks=[webhook]))
    name = webhook.name
    assert str(caught.value) == f"webhook {name!r} has {what}, which OLM cannot pass on to the API server"


@pytest.mark.promise("The certificate of the webhooks", "OLM's own definition accepts the webhook definitions.")
async def test_the_definition_of_olm_accepts_all_of_it(client: Client, namespace: str) -> None:
    folder = download_module("github.com/operator-framework/api", "v0.30.0")
    text = (folder / "crds" / "operators.coreos.com_clusterserviceversions.yaml").read_text(encoding="utf-8")
    fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # written in C where PyYAML has it
    definition = yaml.load(text, Loader=fast)
    # Its schema is what counts; under its own name it may belong to another test.
    group = f"{namespace}.example.com"
    definition["metadata"] = {"name": f"clusterserviceversions.{group}"}
    definition["spec"]["group"] = group
    definition["spec"]["names"].pop("categories", None)
    deployment = next(one for one in objects(SIMPLE) if one.kind == "Deployment")
    version = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "foo-operator.v0.1.0", "namespace": namespace},
        "spec": {
            "displayName": "Foo",
            "install": {
                "strategy": "deployment",
                "spec": {"deployments": [{"name": deployment.metadata.name, "spec": to_dict(deployment)["spec"]}]},
            },
            "webhookdefinitions": webhook_definitions(SIMPLE),
        },
    }
    crds = await client.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    versions = Untyped.kind_of(f"{group}/v1alpha1", "ClusterServiceVersion", plural="clusterserviceversions")
    await client.create(from_dict(crds, definition))
    try:

        async def created() -> Untyped | None:
            try:
                return await client.create(from_dict(versions, version))
            except NotFound:
                return None  # not served yet

        stored = await until(created)
        assert stored["spec"]["webhookdefinitions"] == webhook_definitions(SIMPLE)
    finally:
        await client.delete(crds, f"clusterserviceversions.{group}")
