"""Declarations of webhooks, and the configurations that the API server gets from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubewright.api import admissionregistration, apiextensions, to_dict
from kubewright.manifests import ConversionDeclaration, WebhookDeclaration, objects, rule_for
from tests.manifests.projects import FULL, Bar, Foo, Zone, project

RULES = [rule_for(Foo, "CREATE")]


def declared(**settings: Any) -> WebhookDeclaration:
    return WebhookDeclaration(**({"name": "a.b.example.com", "path": "/a", "rules": RULES} | settings))


@pytest.mark.promise("Packaging", "A declaration of a webhook that the server would refuse is refused here.")
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"name": "validate.foos"}, "the name needs at least three parts, such as validate.foos.example.com"),
        ({"name": "Validate.foos.example.com"}, "the name needs at least three parts"),
        ({"path": "validate"}, "the path 'validate' must start with '/'"),
        ({"path": "/a//b"}, "the path '/a//b' must start with '/' and have no empty segment"),
        ({"rules": []}, "without rules it is never called"),
        ({"timeout_seconds": 31}, "timeout_seconds must be from 1 to 30, not 31"),
        ({"timeout_seconds": 0}, "timeout_seconds must be from 1 to 30, not 0"),
        ({"reinvocation_policy": "IfNeeded"}, "reinvocation_policy is only for mutating webhooks"),
        (
            {"match_conditions": [admissionregistration.MatchCondition(name="a", expression="true")] * 2},
            "match conditions must have different names",
        ),
    ],
)
def test_what_the_api_server_would_refuse_is_rejected_here(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError) as caught:
        declared(**settings)
    assert str(caught.value).startswith("webhook '")
    assert complaint in str(caught.value)


def test_a_conversion_has_a_path_too() -> None:
    assert ConversionDeclaration(kind=Bar).path == "/convert"
    with pytest.raises(ValueError, match="conversion of Bar: the path"):
        ConversionDeclaration(kind=Bar, path="convert")


def test_a_rule_is_made_from_a_kind() -> None:
    assert to_dict(rule_for(Zone, "UPDATE", "DELETE", subresource="status")) == {
        "apiGroups": ["packages.example.com"],
        "apiVersions": ["v1"],
        "resources": ["zones/status"],
        "operations": ["UPDATE", "DELETE"],
        "scope": "Cluster",
    }
    with pytest.raises(ValueError, match="needs operations"):
        rule_for(Foo)


def configurations() -> dict[str, Any]:
    return {one.kind: to_dict(one)["webhooks"] for one in objects(FULL) if one.kind.endswith("WebhookConfiguration")}


@pytest.mark.promise("Packaging", "Every part of a declaration is in its configuration.")
def test_every_part_of_a_declaration_is_in_its_configuration() -> None:
    (mutating,) = configurations()["MutatingWebhookConfiguration"]
    assert mutating == {
        "name": "default.foos.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "name": "foo-operator-webhook",
                "namespace": "foo-operator-system",
                "path": "/default/foos",
                "port": 443,
            }
        },
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
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchLabels": {"team": "a"}},
        "objectSelector": {"matchLabels": {"managed": "yes"}},
        "reinvocationPolicy": "IfNeeded",
    }
    _, guard = configurations()["ValidatingWebhookConfiguration"]
    assert (guard["failurePolicy"], guard["sideEffects"]) == ("Ignore", "NoneOnDryRun")
    assert (guard["timeoutSeconds"], guard["matchPolicy"]) == (5, "Exact")
    assert guard["matchConditions"][0]["name"] == "not-the-system"
    assert "reinvocationPolicy" not in guard


def test_a_program_without_webhooks_has_nothing_of_them() -> None:
    text = str([to_dict(one) for one in objects(project())]).lower()
    assert "webhook" not in text
    assert "9443" not in text


@pytest.mark.promise("Packaging", "Every part of a declaration is in its configuration.")
def test_a_definition_is_converted_by_the_program_where_that_is_declared() -> None:
    found = {one.metadata.name: one for one in objects(FULL) if isinstance(one, apiextensions.CustomResourceDefinition)}
    assert found["foos.packages.example.com"].spec.conversion is None
    conversion = to_dict(found["zones.packages.example.com"].spec.conversion)
    assert conversion["strategy"] == "Webhook"
    assert conversion["webhook"]["conversionReviewVersions"] == ["v1"]
    assert conversion["webhook"]["clientConfig"]["service"]["path"] == "/convert/zones"
    without = replace(FULL, conversions=())
    plain = next(one for one in objects(without) if one.metadata.name == "zones.packages.example.com")
    assert to_dict(plain)["spec"]["conversion"] == {"strategy": "None"}


def test_a_bundle_of_certificates_is_part_of_every_address() -> None:
    made = replace(FULL, certificates="files", ca_bundle=b"PEM")
    bundles = str([to_dict(one) for one in objects(made)]).count("'caBundle': 'UEVN'")
    assert bundles == len(FULL.webhooks) + len(FULL.conversions)
