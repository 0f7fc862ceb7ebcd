"""Bindings to a Role that the API server does not know yet.

To check a binding, kube-apiserver reads the Role from a cache of its own, which a new Role reaches later.
"""

from __future__ import annotations

import pytest

import kubewright as kw
from kubewright.api import core, events, meta, rbac
from kubewright.client import Request, Response
from kubewright.cluster import Cluster
from kubewright.operator import Operator
from tests.transports.disturbed import Disturbed
from tests.transports.scripted import ScriptedResponse

GROUP = "rbac.authorization.k8s.io"
NAMESPACE = "default"


def role(name: str = "reader") -> rbac.Role:
    rules = [rbac.PolicyRule(api_groups=[""], resources=["pods"], verbs=["get"])]
    return rbac.Role(metadata=meta.ObjectMeta(name=name), rules=rules)


def binding(name: str = "reader") -> rbac.RoleBinding:
    return rbac.RoleBinding(
        metadata=meta.ObjectMeta(name=name),
        role_ref=rbac.RoleRef(api_group=GROUP, kind="Role", name=name),
        subjects=[rbac.Subject(kind="ServiceAccount", name="default", namespace=NAMESPACE)],
    )


def not_found(kind: str, name: str = "reader") -> Response:
    """The response of kube-apiserver. For an unknown role, it names the resource of the binding, and the role."""
    details = {"name": name, "group": GROUP, "kind": kind}
    status = {"code": 404, "reason": "NotFound", "message": f"{kind} {name!r} not found", "details": details}
    return ScriptedResponse(404, status)


def operator_of(*children: rbac.Role | rbac.RoleBinding) -> Operator:
    made = Operator("role-operator", namespaces=[NAMESPACE])

    @made.reconciles(core.ConfigMap, labels={"app": "roles"}, owns=[rbac.Role, rbac.RoleBinding])
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        await ctx.apply_all(children)

    return made


async def run(cluster: Cluster, operator: Operator, missing: str = "rolebindings") -> list[str]:
    """Runs the operator until it settles. The server answers its first write of a binding with a 404."""
    answers = [not_found(missing)]

    def before(request: Request) -> Response | None:
        return answers.pop() if request.method == "POST" and "rolebindings" in request.path and answers else None

    async with cluster.client() as client:
        parent = meta.ObjectMeta(name="one", namespace=NAMESPACE, labels={"app": "roles"})
        await client.create(core.ConfigMap(metadata=parent))
        async with operator.running(client.through(lambda inner: Disturbed(inner, before))) as running:
            await running.settled()
        assert not answers
        return [one.reason or "" async for one in client.list(events.Event, NAMESPACE) if one.type == "Warning"]


@pytest.mark.promise(
    "Owned objects and `apply`", "A binding is retried without a failure while the server does not know its new role."
)
async def test_retries_binding_while_the_server_does_not_know_its_role() -> None:
    async with Cluster() as cluster, cluster.client() as client:
        assert await run(cluster, operator_of(role(), binding())) == []
        assert (await client.get(rbac.RoleBinding, "reader", NAMESPACE)).role_ref.name == "reader"


async def test_reports_binding_to_a_role_that_does_not_exist() -> None:
    async with Cluster() as cluster:
        assert await run(cluster, operator_of(role("other"), binding())) == ["ReconcileFailed"]


async def test_reports_a_missing_namespace_with_the_name_of_a_role() -> None:
    async with Cluster() as cluster:
        assert await run(cluster, operator_of(role(), binding()), "namespaces") == ["ReconcileFailed"]
