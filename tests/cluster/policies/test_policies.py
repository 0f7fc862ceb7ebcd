"""Validating policies of the embedded cluster that the differential scenarios cannot cover."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from kubewright.client import Request, Transport
from kubewright.cluster import Cluster, User
from kubewright.cluster.admission import Attributes, ConditionError
from kubewright.cluster.policies import PolicyConditions

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}


def policy(**spec: Any) -> dict[str, Any]:
    made = {"matchConstraints": {"resourceRules": [RULE]}, **spec}
    return {"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "demo"}, "spec": made}


def binding(*actions: str) -> dict[str, Any]:
    spec = {"policyName": "demo", "validationActions": list(actions)}
    return {"kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "demo"}, "spec": spec}


async def post(transport: Transport, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    version = "v1" if path.startswith("/api/") else path.removeprefix("/apis/").rpartition("/")[0]
    request = Request(
        method="POST",
        path=path,
        headers={"Content-Type": "application/json"},
        body=json.dumps({"apiVersion": version, **body}).encode(),
    )
    response = await transport.send(request)
    return response.status, json.loads(await response.read())


@pytest.mark.promise("CEL", "Policies deny, warn and audit; unsupported expressions are rejected.")
async def test_rejects_policy_that_uses_the_authorizer() -> None:
    async with Cluster(controllers=False) as cluster:
        asked = policy(validations=[{"expression": "authorizer.group('').resource('pods').check('get').allowed()"}])
        status, body = await post(cluster.transport(), f"{GROUP}/validatingadmissionpolicies", asked)
    assert (status, body["message"]) == (
        501,
        "the embedded cluster does not support the authorizer in CEL expressions",
    )


@pytest.mark.promise(
    "CEL", "Without the `cel` extra, rules and policies are rejected, and the message names the extra."
)
async def test_rejects_policies_and_rules_without_the_cel_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)  # simulates a missing extra
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Foo", "plural": "foos"}}
    definition = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {**spec, "versions": [version]},
    }
    async with Cluster(controllers=False) as cluster:
        transport = cluster.transport()
        asked = policy(validations=[{"expression": "true"}])
        assert (await post(transport, f"{GROUP}/validatingadmissionpolicies", asked))[0] == 501
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        status, body = await post(transport, definitions, definition)
    assert status == 501
    assert "pip install 'kubewright[test]'" in body["message"]


@pytest.mark.promise("CEL", "Policies deny, warn and audit; unsupported expressions are rejected.")
async def test_records_audit_actions_and_annotations() -> None:
    asked = policy(
        validations=[{"expression": "object.metadata.name != 'odd'", "message": "odd"}],
        auditAnnotations=[{"key": "name", "valueExpression": "'it is ' + object.metadata.name"}],
    )
    async with Cluster(controllers=False) as cluster:
        transport, state = cluster.transport(), cluster.state
        assert (await post(transport, f"{GROUP}/validatingadmissionpolicies", asked))[0] == 201
        assert (await post(transport, f"{GROUP}/validatingadmissionpolicybindings", binding("Audit")))[0] == 201
        type_ = state.types.find("", "v1", "configmaps")
        assert type_ is not None
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "odd", "namespace": "default"}}
        attributes = Attributes(
            operation="CREATE", type=type_, user=User("me"), namespace="default", name="odd", object=obj
        )
        await state.admission.validate(attributes)
    failures = json.loads(attributes.annotations.pop("validation.policy.admission.k8s.io/validation_failure"))
    assert attributes.annotations == {"demo/name": "it is odd"}
    assert failures == [
        {
            "message": "odd",
            "policy": "demo",
            "binding": "demo",
            "expressionIndex": 0,
            "validationActions": ["Audit"],
        }
    ]


@pytest.mark.promise("CEL", "A runaway rule is stopped by its cost, not by a clock; so is a pattern.")
async def test_stops_policy_that_exceeds_its_budget() -> None:
    loop = "lists.range(9999).all(x, lists.range(9999).all(y, x + y >= 0))"
    async with Cluster(controllers=False) as cluster:
        transport = cluster.transport()
        await post(transport, f"{GROUP}/validatingadmissionpolicies", policy(validations=[{"expression": loop}]))
        await post(transport, f"{GROUP}/validatingadmissionpolicybindings", binding("Deny"))
        body = {"kind": "ConfigMap", "metadata": {"name": "a"}}
        status, answer = await post(transport, "/api/v1/namespaces/default/configmaps", body)
    assert status == 422
    assert "resulted in error: operation cancelled: actual cost limit exceeded" in answer["message"]


@pytest.mark.promise("CEL", "Match conditions of webhooks are evaluated.")
def test_compiles_and_evaluates_match_conditions() -> None:
    conditions, request = PolicyConditions(), {"operation": "CREATE", "name": "a", "namespace": "b"}
    obj = {"metadata": {"name": "a", "labels": {"team": "blue"}}}

    def matches(*expressions: str) -> bool:
        asked = [{"name": f"c{number}", "expression": text} for number, text in enumerate(expressions)]
        return conditions.matches(asked, None, request, obj, None)  # type: ignore[arg-type]

    assert matches("request.namespace == 'b'", "object.metadata.labels.team == 'blue'", "oldObject == null")
    assert not matches("object.missing == 1", "request.operation == 'DELETE'")
    with pytest.raises(
        ConditionError, match=r"expression 'object.missing == 1' resulted in error: no such key: missing"
    ):
        matches("object.missing == 1", "request.operation == 'CREATE'")
    problem = conditions.problems("request.missing == 1", "webhooks[0].matchConditions[0].expression")[0]
    assert (problem.reason, problem.field) == ("FieldValueInvalid", "webhooks[0].matchConditions[0].expression")
    assert "undefined field 'missing'" in problem.message
    assert conditions.problems("request.operation == 'CREATE'", "x") == []
    assert "must evaluate to bool but got string" in conditions.problems("request.operation", "x")[0].message
