"""Roles from declarations."""

from __future__ import annotations

from typing import Any

import pytest

import kubewright as kw
from kubewright.api import apps, core, policy, rbac, to_dict
from kubewright.controller import Owns, Reads, Watch
from kubewright.manifests import kind_roles_of, roles_of, rules_of, service_account_of
from kubewright.operator import for_installing
from kubewright.rbac import Permission


class Spec(kw.Model):
    replicas: int = 1


class Status(kw.Model):
    replicas: int = 0


@kw.resource("example.com/v1", scale_subresource=True)
class Foo(kw.Resource[Spec, Status]):
    """A kind with a status of its own."""


@kw.resource("example.com/v1", scope="Cluster", status_subresource=False)
class Zone(kw.Resource[Spec, Status]):
    """A kind in no namespace, whose status is a part of it."""


async def sync(obj: Any, ctx: Any) -> None: ...


def operator_with(**options: Any) -> kw.Operator:
    return kw.Operator("foo-operator", **options)


def rules(operator: kw.Operator, *, place: int = 0) -> list[str]:
    """The rules of one role, a line for each."""
    role = roles_of(operator).roles[place]
    return [line(rule) for rule in role.rules or []]


def line(rule: rbac.PolicyRule) -> str:
    names = f" {','.join(rule.resource_names)}" if rule.resource_names else ""
    where = ",".join(rule.non_resource_urls or [f"{(rule.api_groups or [''])[0]}/{','.join(rule.resources or [])}"])
    return f"{where}{names}: {' '.join(rule.verbs)}"


EVENTS = ["events.k8s.io/events: create patch"]


def without_events(found: list[str]) -> list[str]:
    return [text for text in found if text not in EVENTS]


@pytest.mark.promise("Roles", "Rules follow from what is reconciled, owned, watched, read and finalized.")
def test_a_kind_that_is_reconciled_is_read_and_its_status_written() -> None:
    operator = operator_with()
    operator.reconciles(Foo)(sync)
    assert without_events(rules(operator)) == [
        "example.com/foos: get list patch watch",
        "example.com/foos/status: patch",
    ]


def test_a_status_that_is_a_part_of_the_object_is_written_with_it() -> None:
    operator = operator_with()
    operator.reconciles(Zone)(sync)
    assert without_events(rules(operator)) == ["example.com/zones: get list patch watch"]


def test_a_kind_without_a_status_is_only_read() -> None:
    @kw.resource("example.com/v1")
    class Plain(kw.Resource[Spec, None]): ...

    operator = operator_with()
    operator.reconciles(Plain)(sync)
    assert without_events(rules(operator)) == ["example.com/plains: get list watch"]


def test_a_status_that_is_a_text_is_written_with_the_object() -> None:
    @kw.resource("example.com/v1")
    class Said(kw.Resource[Spec, str | None]): ...

    operator = operator_with()
    operator.reconciles(Said)(sync)
    assert without_events(rules(operator)) == ["example.com/saids: get list patch watch"]


def test_the_status_of_a_kind_of_kubernetes_is_another_owners() -> None:
    operator = operator_with()
    operator.reconciles(apps.Deployment)(sync)
    assert without_events(rules(operator)) == ["apps/deployments: get list watch"]


@pytest.mark.promise("Roles", "Rules follow from what is reconciled, owned, watched, read and finalized.")
def test_finalizers_are_written_into_the_object() -> None:
    operator = operator_with()
    operator.finalizes(Foo)(sync)
    assert "example.com/foos: get list patch watch" in rules(operator)


def test_a_class_that_finalizes_writes_finalizers_too() -> None:
    operator = operator_with()

    @operator.reconciles(Foo)
    class Reconciler:
        async def reconcile(self, foo: Foo, ctx: kw.Context[Foo]) -> None: ...
        async def finalize(self, foo: Foo, ctx: kw.Context[Foo]) -> None: ...

    assert "example.com/foos: get list patch watch" in rules(operator)


@pytest.mark.promise("Roles", "Rules follow from what is reconciled, owned, watched, read and finalized.")
def test_owned_kinds_are_applied_and_deleted_and_their_owner_may_block_its_deletion() -> None:
    operator = operator_with()
    operator.reconciles(Foo, owns=[apps.Deployment])(sync)
    assert without_events(rules(operator)) == [
        "apps/deployments: create delete get list patch watch",
        "example.com/foos: get list patch watch",
        "example.com/foos/finalizers: update",
        "example.com/foos/status: patch",
    ]


def test_verbs_can_be_narrowed_where_a_kind_is_declared() -> None:
    operator = operator_with()
    narrowed = Owns(core.Secret, verbs=["get", "list", "watch", "create"])
    operator.reconciles(Foo, owns=[narrowed], verbs=["list", "watch"])(sync)
    assert without_events(rules(operator)) == [
        "/secrets: create get list watch",
        "example.com/foos: list watch",
        "example.com/foos/finalizers: update",
    ]


@pytest.mark.promise("Roles", "Rules follow from what is reconciled, owned, watched, read and finalized.")
def test_watched_and_read_kinds_are_only_followed() -> None:
    operator = operator_with()
    operator.reconciles(Foo, watches=[Watch(core.ConfigMap, map=lambda config: [])], reads=[core.Node])(sync)
    assert "/configmaps,nodes: list watch" in rules(operator)


@pytest.mark.promise("Roles", "Rules follow from what is reconciled, owned, watched, read and finalized.")
def test_kinds_whose_metadata_is_cached_may_be_read_one_by_one() -> None:
    operator = operator_with()
    watches: list[Watch[Any]] = [
        Watch(core.Secret, map=lambda obj: []),
        Watch(core.Pod, map=lambda obj: [], metadata_only=True),
    ]
    operator.reconciles(Foo, watches=watches)(sync)
    assert "/pods,secrets: get list watch" in rules(operator)


@pytest.mark.promise("Roles", "Rules follow from what is reconciled, owned, watched, read and finalized.")
def test_namespaces_of_a_declaration_limit_its_rules_to_them() -> None:
    operator = operator_with()
    operator.namespaces = ("shop",)
    operator.reconciles(Foo, reads=[Reads(core.ConfigMap, namespaces=["kube-system"])])(sync)
    found = {one.metadata.namespace: one for one in roles_of(operator).roles if isinstance(one, rbac.Role)}
    assert [rule.resources for rule in found["kube-system"].rules or ()] == [["configmaps"]]
    assert all("configmaps" not in (rule.resources or ()) for rule in found["shop"].rules or ())


def test_events_are_created_and_counted_up_where_they_are_written() -> None:
    operator = operator_with()
    operator.reconciles(Foo)(sync)
    assert [text for text in rules(operator) if "events" in text] == EVENTS


def test_needs_adds_what_does_not_follow() -> None:
    operator = operator_with()
    operator.reconciles(Foo)(sync)

    @operator.needs(core.Pod, verbs=["create eviction", "get"])
    def evict() -> str:
        return "unchanged"

    operator.needs(core.ConfigMap, verbs=["get"], names=["settings", "other"], namespace="kube-system")
    operator.needs(rbac.PolicyRule(non_resource_urls=["/metrics"], verbs=["get"]))
    operator.needs(rbac.PolicyRule(api_groups=["x.com"], resources=["ys", "zs"], resource_names=["n"], verbs=["get"]))
    assert evict() == "unchanged"
    found = rules(operator)
    assert "/pods: get" in found
    assert "/pods/eviction: create" in found
    assert "/metrics: get" in found
    assert "x.com/ys,zs n: get" in found
    assert rules(operator, place=2) == ["/configmaps other,settings: get"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": "cfg"}, r"""needs\(ConfigMap\): names takes a list of strings, names=\["settings"\], not 'cfg'"""),
        ({"names": [5]}, r"names takes a list of strings, .*, not \[5\]"),
        ({"names": None}, "names takes a list of strings, .*, not None"),
        (
            {"namespace": ["kube-system"]},
            r"""namespace must be a string, such as "kube-system", .*, not \['kube-system'\]""",
        ),
    ],
)
def test_needs_takes_names_in_a_list_and_one_namespace(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        operator_with().needs(core.ConfigMap, verbs=["get"], **options)


def test_needs_rejects_a_string() -> None:
    with pytest.raises(TypeError, match=r"needs takes a kind, such as apps\.Deployment .*, not 'pods'"):
        operator_with().needs("pods")  # type: ignore[arg-type]


@pytest.mark.promise(
    "Roles",
    "An operator that is confined to namespaces gets roles there; a lease is allowed by its name.",
)
def test_an_operator_of_all_namespaces_has_a_cluster_role_and_a_role_for_its_lease() -> None:
    operator = operator_with()
    operator.reconciles(Foo)(sync)
    made = roles_of(operator)
    assert [(role.kind, role.metadata.namespace) for role in made.roles] == [
        ("ClusterRole", ""),
        ("Role", "foo-operator-system"),
    ]
    assert rules(operator, place=1) == [
        "coordination.k8s.io/leases: create",
        "coordination.k8s.io/leases foo-operator: get update",
    ]


def test_without_leader_election_there_is_no_lease() -> None:
    operator = operator_with(leader_elect=False)
    operator.reconciles(Foo)(sync)
    assert [role.kind for role in roles_of(operator).roles] == ["ClusterRole"]


def test_the_lease_is_the_one_of_the_settings() -> None:
    operator = operator_with(lease_name="mine", lease_namespace="leases")
    operator.reconciles(Foo)(sync)
    role = roles_of(operator).roles[1]
    assert role.metadata.namespace == "leases"
    assert "coordination.k8s.io/leases mine: get update" in rules(operator, place=1)


@pytest.mark.promise(
    "Roles",
    "An operator that is confined to namespaces gets roles there; a lease is allowed by its name.",
)
def test_an_operator_of_some_namespaces_has_a_role_in_each_of_them() -> None:
    operator = operator_with(namespaces=["a", "b"], leader_elect=False)
    operator.reconciles(Foo, owns=[apps.Deployment])(sync)
    made = roles_of(operator, namespace="ops")
    assert [(role.kind, role.metadata.namespace) for role in made.roles] == [("Role", "a"), ("Role", "b")]
    assert made.roles[0].rules == made.roles[1].rules
    for role, binding in zip(made.roles, made.bindings, strict=True):
        content = to_dict(binding)
        assert content["metadata"]["namespace"] == role.metadata.namespace
        assert content["roleRef"] == {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Role",
            "name": "foo-operator",
        }
        assert content["subjects"] == [{"kind": "ServiceAccount", "name": "foo-operator", "namespace": "ops"}]


@pytest.mark.promise(
    "Roles",
    "An operator that is confined to namespaces gets roles there; a lease is allowed by its name.",
)
def test_only_kinds_in_no_namespace_need_a_cluster_role_then() -> None:
    operator = operator_with(namespaces=["a"], leader_elect=False)
    operator.reconciles(Zone, reads=[core.Secret])(sync)
    made = roles_of(operator)
    assert [(role.kind, role.metadata.namespace) for role in made.roles] == [
        ("ClusterRole", ""),
        ("Role", "a"),
        ("Role", "default"),
    ]
    assert rules(operator) == ["example.com/zones: get list patch watch"]
    assert rules(operator, place=1) == ["/secrets: list watch"]
    assert rules(operator, place=2) == EVENTS  # about objects in no namespace


def test_the_lease_and_the_watched_objects_share_a_role_in_one_namespace() -> None:
    operator = operator_with(namespaces=["a"])
    operator.reconciles(Foo)(sync)
    assert [role.metadata.namespace for role in roles_of(operator, namespace="a").roles] == ["a"]


def test_the_binding_of_a_cluster_role_names_the_account() -> None:
    operator = operator_with(leader_elect=False)
    operator.reconciles(Foo)(sync)
    (binding,) = roles_of(operator).bindings
    account = service_account_of(operator)
    assert (account.metadata.name, account.metadata.namespace) == ("foo-operator", "foo-operator-system")
    assert to_dict(binding)["subjects"] == [
        {"kind": "ServiceAccount", "name": "foo-operator", "namespace": "foo-operator-system"}
    ]


def test_rules_are_merged_and_sorted_whatever_the_order() -> None:
    found = [
        Permission(resource="b", verb="watch"),
        Permission(resource="a", verb="get"),
        Permission(resource="a", verb="watch"),
        Permission(resource="b", verb="get"),
        Permission(resource="a", verb="get", name="n"),
        Permission(resource="a", verb="patch", name="n"),
    ]
    assert [line(rule) for rule in rules_of(found)] == ["/a n: patch", "/a,b: get watch"]
    assert rules_of(reversed(found)) == rules_of(found)


def test_installing_asks_for_its_own_definitions_by_name() -> None:
    assert [line(rule) for rule in rules_of(for_installing(Foo, Zone))] == [
        "apiextensions.k8s.io/customresourcedefinitions: create",
        "apiextensions.k8s.io/customresourcedefinitions foos.example.com,zones.example.com: get patch watch",
    ]


def test_a_program_that_defines_its_kinds_says_so() -> None:
    operator = operator_with(leader_elect=False)
    operator.reconciles(Foo)(sync)
    operator.needs(for_installing(Foo))
    assert "apiextensions.k8s.io/customresourcedefinitions foos.example.com: get patch watch" in rules(operator)
    with pytest.raises(TypeError, match="permissions already have verbs"):
        operator.needs(for_installing(Foo), verbs=["get"])
    several: Any = [core.ConfigMap]
    with pytest.raises(TypeError, match=r"needs takes one kind at a time, needs\(ConfigMap, \.\.\.\), or"):
        operator.needs(several, verbs=["get"])


@pytest.mark.promise("Roles", "People get viewer, editor and admin roles that Kubernetes adds to its own.")
def test_people_get_a_role_for_viewing_for_editing_and_for_everything() -> None:
    made = {role.metadata.name: role for role in kind_roles_of(Foo)}
    assert {name: [line(rule) for rule in role.rules or []] for name, role in made.items()} == {
        "foos.example.com-viewer": [
            "example.com/foos: get list watch",
            "example.com/foos/scale,foos/status: get",
        ],
        "foos.example.com-editor": [
            "example.com/foos: create delete deletecollection get list patch update watch",
            "example.com/foos/scale: get patch update",
            "example.com/foos/status: get",
        ],
        "foos.example.com-admin": [
            "example.com/foos: *",
            "example.com/foos/scale: get patch update",
            "example.com/foos/status: get",
        ],
    }
    aggregate = "rbac.authorization.k8s.io/aggregate-to-"
    into = {
        name: sorted(label.removeprefix(aggregate) for label in role.metadata.labels) for name, role in made.items()
    }
    assert into == {
        "foos.example.com-viewer": ["admin", "edit", "view"],
        "foos.example.com-editor": ["admin", "edit"],
        "foos.example.com-admin": ["admin"],
    }


@pytest.mark.parametrize(
    ("verbs", "message"),
    [
        (["get", "list", "wach"], "'wach' is not a verb. Did you mean 'watch'?"),
        (["get"], "verbs lacks list and watch, without which its objects cannot be watched"),
        ("get", r"verbs takes a list"),
        ([], r"verbs takes a list"),
    ],
)
def test_a_wrong_verb_is_an_error_where_it_is_written(verbs: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Owns(core.Secret, verbs=verbs)
    with pytest.raises((ValueError, TypeError), match=message):
        operator_with().reconciles(Foo, verbs=verbs)


def test_a_need_without_verbs_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"needs\(PodDisruptionBudget\): verbs takes a list"):
        operator_with().needs(policy.PodDisruptionBudget)
    with pytest.raises(ValueError, match="a PolicyRule requires verbs, and resources"):
        operator_with().needs(rbac.PolicyRule(verbs=["get"]))
    with pytest.raises(TypeError, match="a PolicyRule already has verbs and names"):
        operator_with().needs(rbac.PolicyRule(verbs=["get"], resources=["a"]), verbs=["get"])
