"""Operators that run as their own service accounts, with the generated roles and nothing else."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, Selector, authorization, coordination, core, rbac
from kubewright.api.events.v1 import Event
from kubewright.client import Client, MergePatch, NotFound
from kubewright.controller import Owns
from kubewright.crd import install
from kubewright.manifests import kind_roles_of
from kubewright.operator import for_installing
from kubewright.testing import ControlPlane, RbacError, add_operator_account, verified_rbac
from tests.manifests.conftest import Answers
from tests.patience import until

EXAMPLE = Path(__file__).parents[2] / "examples" / "foo" / "foo.py"


class GadgetSpec(kw.Model):
    parts: int = 1


class GadgetStatus(kw.Model):
    parts: int = 0


@kw.resource("rbac.example.com/v1")
class Gadget(kw.Resource[GadgetSpec, GadgetStatus]):
    """So many ConfigMaps."""


@kw.resource("rbac.example.com/v1", scope="Cluster")
class Region(kw.Resource[GadgetSpec, GadgetStatus]):
    """In no namespace."""


@pytest.fixture
async def kinds(client: Client) -> None:
    await install(client, Gadget, Region)


@pytest.fixture
def foo(namespace: str) -> Iterator[ModuleType]:
    """The example, under a name of its own in the cluster."""
    spec = importlib.util.spec_from_file_location("roles_example_foo", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    module.operator.name = f"sample-{namespace}"
    yield module
    del sys.modules[module.__name__]


def gadget(name: str, namespace: str, *, parts: int = 1) -> Gadget:
    return Gadget(metadata=ObjectMeta(name=name, namespace=namespace), spec=GadgetSpec(parts=parts))


def gadget_operator(name: str, **options: Any) -> kw.Operator:
    """Uses everything that a context has for owned objects, and a finalizer."""
    operator = kw.Operator(name, **options)

    @operator.reconciles(Gadget, owns=[core.ConfigMap])
    async def sync(gadget: Gadget, ctx: kw.Context[Gadget]) -> None:
        wanted = [
            core.ConfigMap(metadata=ObjectMeta(name=f"{gadget.metadata.name}-{n}"), data={"of": str(gadget.spec.parts)})
            for n in range(gadget.spec.parts)
        ]
        for part in wanted:
            await ctx.apply(part)
        await ctx.prune([core.ConfigMap], keep=wanted)
        await ctx.set_status(GadgetStatus(parts=len(wanted)))
        ctx.record("Synced", f"{len(wanted)} parts")

    @operator.finalizes(Gadget)
    async def clean(gadget: Gadget, ctx: kw.Context[Gadget]) -> None: ...

    return operator


async def live(client: Client, name: str, namespace: str) -> None:
    """A Gadget that grows, shrinks and goes, with everything that the operator does about it."""
    await client.create(gadget(name, namespace, parts=2))
    await client.wait_for(Gadget, name, lambda seen: seen.status.parts == 2, namespace)
    await client.patch(Gadget, name, MergePatch({"spec": {"parts": 1}}), namespace)
    await client.wait_for(Gadget, name, lambda seen: seen.status.parts == 1, namespace)

    async def has_recorded_event() -> bool:
        return any(event.reason == "Synced" for event in await client.list(Event, namespace))

    await until(has_recorded_event)
    await client.delete(Gadget, name, namespace)

    async def gone() -> bool:
        try:
            await client.get(Gadget, name, namespace)
        except NotFound:
            return True
        return False

    await until(gone)


@pytest.mark.promise("Roles", "Operators run as their own account with the generated roles alone, without one refusal.")
async def test_the_example_runs_with_its_roles_alone(
    client: Client, control_plane: ControlPlane, namespace: str, foo: ModuleType, answers: Answers
) -> None:
    await install(client, foo.Foo)
    account = add_operator_account(control_plane, foo.operator, namespace)
    async with foo.operator.running(account, install_crds=False):
        spec = foo.FooSpec(deployment_name=f"web-{namespace}", replicas=1)
        await client.create(foo.Foo(metadata=ObjectMeta(name="web", namespace=namespace), spec=spec))

        async def has_recorded_event() -> bool:
            return any(event.reason == "Synced" for event in await client.list(Event, namespace))

        await until(has_recorded_event)
    assert answers.refused(namespace) == []
    assert "create events.events.k8s.io" in answers.verbs()
    assert "create deployments.apps" in answers.verbs()


@pytest.mark.promise("Roles", "Operators run as their own account with the generated roles alone, without one refusal.")
async def test_an_operator_of_all_namespaces_runs_and_leads_with_its_roles_alone(
    client: Client, control_plane: ControlPlane, namespace: str, kinds: None, answers: Answers
) -> None:
    operator = gadget_operator(f"all-{namespace}", leader_elect=True, lease_namespace=namespace)
    account = add_operator_account(control_plane, operator, namespace)
    with verified_rbac(operator) as recorder:
        async with operator.running(account, install_crds=False) as running:
            await running.wait_for_leadership()
            await live(client, "one", namespace)
            lease = await client.get(coordination.Lease, operator.name, namespace)
            assert lease.spec is not None
            assert lease.spec.holder_identity
    assert answers.refused() == []
    assert {str(call).partition(" in ")[0] for call in recorder.calls()} >= {
        "create configmaps",
        "delete configmaps one-1",
        "patch configmaps one-0",
        "patch gadgets.rbac.example.com one",
        "patch gadgets.rbac.example.com/status one",
        "watch gadgets.rbac.example.com",
    }


@pytest.mark.promise("Roles", "Operators run as their own account with the generated roles alone, without one refusal.")
async def test_an_operator_of_one_namespace_runs_with_a_role_there(
    client: Client, control_plane: ControlPlane, namespace: str, kinds: None, answers: Answers
) -> None:
    operator = gadget_operator(f"one-{namespace}", namespaces=[namespace])
    account = add_operator_account(control_plane, operator, namespace)
    with pytest.raises(NotFound):
        await client.get(rbac.ClusterRole, operator.name)
    with verified_rbac(operator):
        async with operator.running(account, install_crds=False):
            await live(client, "one", namespace)
    assert answers.refused() == []


@pytest.mark.promise("Roles", "Operators run as their own account with the generated roles alone, without one refusal.")
async def test_a_kind_in_no_namespace_is_reconciled_with_a_cluster_role(
    client: Client, control_plane: ControlPlane, namespace: str, kinds: None, answers: Answers
) -> None:
    operator = kw.Operator(f"region-{namespace}", namespaces=[namespace])

    @operator.reconciles(Region, owns=[Owns(core.Secret, verbs=["list", "watch"])])
    async def sync(region: Region, ctx: kw.Context[Region]) -> None:
        ctx.record("Synced", "so it is")
        await ctx.set_status(GadgetStatus(parts=1))

    account = add_operator_account(control_plane, operator, namespace)
    with verified_rbac(operator):
        async with operator.running(account, install_crds=False):
            name = f"region-{namespace}"
            await client.create(Region(metadata=ObjectMeta(name=name), spec=GadgetSpec()))
            await client.wait_for(Region, name, lambda seen: seen.status.parts == 1)

            async def has_recorded_event() -> bool:
                return any(
                    event.regarding and event.regarding.name == name for event in await client.list(Event, "default")
                )

            await until(has_recorded_event)
            await client.delete(Region, name)
    assert answers.refused() == []


@pytest.mark.promise("Roles", "A test run fails for a call that the roles lack, and for a rule that nothing used.")
async def test_calls_and_permissions_that_do_not_fit_are_reported_precisely(
    client: Client, namespace: str, kinds: None
) -> None:
    operator = kw.Operator(f"wrong-{namespace}", namespaces=[namespace])

    @operator.reconciles(Gadget, owns=[core.ConfigMap])
    async def sync(gadget: Gadget, ctx: kw.Context[Gadget]) -> None:
        await ctx.client.list(core.Pod, namespace)
        await ctx.set_status(GadgetStatus(parts=1))

    operator.needs(core.Node, verbs=["get"], names=["here"])
    with pytest.raises(RbacError) as caught, verified_rbac(operator):
        async with operator.running(client):
            await client.create(gadget("one", namespace))
            await client.wait_for(Gadget, "one", lambda seen: seen.status.parts == 1, namespace)
    lines = str(caught.value).splitlines()
    assert lines[1] == "  calls that its roles do not allow (declare them: verbs=, or operator.needs(...)):"
    assert lines[2].startswith(f"    list pods in namespace {namespace}  [tests/manifests/test_roles_on")
    assert lines[3:] == [
        "  permissions that nothing used (narrow them: verbs=, or leave the declaration out):",
        "    create configmaps  [Gadget owns ConfigMap]",
        "    delete configmaps  [Gadget owns ConfigMap]",
        "    patch configmaps  [Gadget owns ConfigMap]",
        "    get nodes here  [needs(Node)]",
    ]
    with pytest.raises(RbacError, match="made no call: was it running"), verified_rbac(operator):
        pass


@pytest.mark.promise("Roles", "A verb that is not declared is refused before it is sent.")
async def test_a_verb_that_is_not_declared_is_rejected_before_it_is_sent(
    client: Client, namespace: str, kinds: None, answers: Answers
) -> None:
    operator = kw.Operator(f"narrow-{namespace}", namespaces=[namespace])
    failures: list[str] = []

    @operator.reconciles(
        Gadget,
        owns=[Owns(core.ConfigMap, verbs=["list", "watch", "patch"])],
        verbs=["get", "list", "watch", "patch status"],
    )
    async def sync(gadget: Gadget, ctx: kw.Context[Gadget]) -> None:
        part = core.ConfigMap(metadata=ObjectMeta(name="part", namespace=namespace))
        for call in (
            lambda: ctx.apply(part),
            lambda: ctx.create(part),
            lambda: ctx.delete(core.ConfigMap, "part"),
            lambda: ctx.client.get(core.ConfigMap, "part", namespace),
            lambda: ctx.client.patch(Gadget, gadget.metadata.name, MergePatch({}), namespace),
        ):
            try:
                await call()
            except kw.NotDeclared as error:
                failures.append(str(error))
        await ctx.set_status(GadgetStatus(parts=1))
        if gadget.metadata.name == "two":
            await ctx.delete(core.ConfigMap, "part")

    async with operator.running(client) as running:
        await client.create(gadget("one", namespace))
        await client.wait_for(Gadget, "one", lambda seen: seen.status.parts == 1, namespace)
        await client.create(gadget("two", namespace))

        async def given_up() -> bool:
            return running.controller(Gadget).stats.reconciles["terminal_error"] > 0

        await until(given_up)
    assert failures[0] == (
        "create of configmaps is not declared: the declared verbs are list, patch, watch. Add 'create' to verbs="
        " where configmaps is declared"
    )
    assert [text.partition(" of ")[0] for text in failures[:5]] == [
        "create",
        "create",
        "delete",
        "get",
        "patch",
    ]
    assert {verb for verb in answers.verbs() if verb.endswith(" configmaps")} <= {"list configmaps", "watch configmaps"}


async def test_a_program_installs_its_definitions_with_its_roles_alone(
    control_plane: ControlPlane, namespace: str
) -> None:
    def late(*short_names: str) -> type[kw.Object]:
        @kw.resource("late.example.com/v1", short_names=short_names)
        class Late(kw.Resource[GadgetSpec, None]): ...

        return Late

    operator = kw.Operator(f"late-{namespace}", leader_elect=False)
    operator.needs(for_installing(late()))
    account = add_operator_account(control_plane, operator, namespace)
    async with Client.connect(kubeconfig=account.kubeconfig) as own:
        await install(own, late())
        [crd] = await install(own, late("lt"))
        assert crd.spec.names.short_names == ["lt"]


@pytest.mark.promise("Roles", "People get viewer, editor and admin roles that Kubernetes adds to its own.")
async def test_the_roles_for_people_allow_what_they_say_and_fit_the_aggregation_of_kubernetes(
    client: Client, namespace: str, kinds: None
) -> None:
    group = "rbac.authorization.k8s.io"
    expected = {
        "viewer": ({"get", "list", "watch", "get status"}, {"view", "edit", "admin"}),
        "editor": ({"get", "list", "watch", "create", "update", "patch", "delete", "get status"}, {"edit", "admin"}),
        "admin": ({"get", "list", "watch", "create", "update", "patch", "delete", "get status", "bind"}, {"admin"}),
    }
    selectors = {}
    for name in ("view", "edit", "admin"):
        rule = (await client.get(rbac.ClusterRole, name)).aggregation_rule
        assert rule is not None
        selectors[name] = [Selector.from_label_selector(one) for one in rule.cluster_role_selectors or []]

    for role in kind_roles_of(Gadget):
        await client.apply(role, force=True)
        part = role.metadata.name.rpartition("-")[2]
        user = f"{part}-{namespace}"
        binding = rbac.RoleBinding(
            metadata=ObjectMeta(name=part, namespace=namespace),
            role_ref=rbac.RoleRef(api_group=group, kind="ClusterRole", name=role.metadata.name),
            subjects=[rbac.Subject(api_group=group, kind="User", name=user)],
        )
        await client.create(binding)
        verbs, into = expected[part]
        assert await allowed(client, user, namespace, verbs | {"patch", "patch status"}) == verbs
        labels = role.metadata.labels
        assert {name for name, found in selectors.items() if any(one.matches(labels) for one in found)} == into


async def allowed(client: Client, user: str, namespace: str, verbs: set[str]) -> set[str]:
    """Which of these a user may do with Gadgets."""

    async def may(text: str) -> bool:
        verb, _, part = text.partition(" ")
        asked = authorization.ResourceAttributes(
            group="rbac.example.com", resource="gadgets", subresource=part or None, verb=verb, namespace=namespace
        )
        spec = authorization.SubjectAccessReviewSpec(user=user, resource_attributes=asked)
        answer = await client.create(authorization.SubjectAccessReview(spec=spec))
        return answer.status is not None and answer.status.allowed

    async def known() -> bool:
        return await may("get")  # the authorizer hears of a new binding a moment later

    await until(known)
    return {verb for verb in verbs if await may(verb)}
