"""RBAC on the embedded cluster, end to end. `tests/cluster/differential` compares the messages with the real server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubewright.api import ObjectMeta, core
from kubewright.api.authentication.v1 import SelfSubjectReview
from kubewright.client import Client, Forbidden, Impersonation, load_config
from kubewright.cluster import Cluster, User
from kubewright.cluster.access import user_named
from tests.cluster.access.conftest import RBAC, As, grant
from tests.cluster.conftest import Raw
from tests.patience import PATIENCE

MAPS = "/api/v1/namespaces/default/configmaps"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
READ = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}


@pytest.mark.promise(
    "Access to the embedded cluster",
    "With RBAC, users may do only what roles grant; without it everything, and reviews say so.",
)
async def test_users_may_do_what_roles_grant_and_nothing_else(admin: Raw, requests_as: As) -> None:
    jane = requests_as("jane")
    got = await jane("GET", MAPS)
    assert got.status == 403
    assert got.body["message"] == (
        'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace '
        '"default"'
    )
    await grant(admin, "jane", READ)
    assert (await jane("GET", MAPS)).status == 200
    assert (await jane("POST", MAPS, {"metadata": {"name": "a"}})).status == 403
    await admin("DELETE", f"{RBAC}/namespaces/default/rolebindings/jane")
    assert (await jane("GET", MAPS)).status == 403


@pytest.mark.promise(
    "Access to the embedded cluster",
    "With RBAC, users may do only what roles grant; without it everything, and reviews say so.",
)
async def test_without_rbac_every_user_may_do_everything_and_reviews_say_so() -> None:
    async with Cluster() as cluster:
        jane = Raw(cluster.transport(user_named("jane")))
        assert (await jane("GET", "/api/v1/secrets")).status == 200
        access_request = {"spec": {"user": "john", "resourceAttributes": {"verb": "delete", "resource": "nodes"}}}
        answer = await jane("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", access_request)
        assert answer.body["status"] == {"allowed": True}
        rules = await jane(
            "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": "x"}}
        )
        assert rules.body["status"]["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        assert not cluster.rbac


@pytest.mark.promise("Access to the embedded cluster", "A running watch continues after its permission is revoked.")
async def test_running_watch_continues_after_permission_is_revoked(admin: Raw, requests_as: As) -> None:
    await grant(admin, "jane", READ)
    response = await requests_as("jane").open("GET", f"{MAPS}?watch=true&resourceVersion=0")
    await admin("DELETE", f"{RBAC}/namespaces/default/rolebindings/jane")
    assert (await requests_as("jane")("GET", MAPS)).status == 403
    await admin("POST", MAPS, {"metadata": {"name": "late"}})
    names = []
    async with asyncio.timeout(PATIENCE):
        async for chunk in response.chunks():
            names += [json.loads(line)["object"]["metadata"]["name"] for line in chunk.splitlines()]
            if "late" in names:
                break
    response.close()


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Rules are matched like on the real server, and its default roles exist from the start.",
)
async def test_default_roles_exist_and_are_aggregated_at_start() -> None:
    async with Cluster(rbac=True) as cluster:
        client = cluster.client()
        await client.create(core.Namespace(metadata=ObjectMeta(name="a")))
        binding = {
            "metadata": {"name": "viewers"},
            "roleRef": {"kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "Group", "name": "staff"}],
        }
        await Raw(cluster.transport())("POST", f"{RBAC}/namespaces/a/rolebindings", binding)
        jane = cluster.client_as("jane", "staff")
        assert await jane.list(core.ConfigMap, "a") is not None
        with pytest.raises(Forbidden):
            await jane.list(core.Secret, "a")
        with pytest.raises(Forbidden):
            await jane.list(core.ConfigMap, "default")


@pytest.mark.promise("Access to the embedded cluster", "Aggregated cluster roles follow the roles that they select.")
async def test_aggregated_role_follows_its_parts(guarded: Cluster, admin: Raw) -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["foos"], "verbs": ["get"]}
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}

    async def rules_of(name: str) -> list[object]:
        await guarded.settled()
        found = (await admin("GET", f"{RBAC}/clusterroles/{name}")).body
        assert isinstance(found["rules"], list)
        return found["rules"]

    before = {name: await rules_of(name) for name in ("view", "edit", "admin")}
    await admin("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "foo-viewer", "labels": labels}, "rules": [rule]})
    for name, rules in before.items():  # edit aggregates view, and admin aggregates edit
        now = await rules_of(name)
        assert [each for each in now if each not in rules] == [rule], name
    await admin("DELETE", f"{RBAC}/clusterroles/foo-viewer")
    assert {name: await rules_of(name) for name in before} == before


async def test_role_with_invalid_selector_keeps_its_rules(guarded: Cluster, admin: Raw) -> None:
    rule = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Sometimes"}]}]}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    state = guarded.state
    odd = {"metadata": {"name": "odd", "uid": "1"}, "aggregationRule": rule, "rules": rules}
    state.storage.put("rbac.authorization.k8s.io/clusterroles", odd, None)
    await guarded.settled()
    assert (await admin("GET", f"{RBAC}/clusterroles/odd")).body["rules"] == rules


async def test_snapshot_keeps_roles_and_bindings(tmp_path: Path) -> None:
    file = tmp_path / "snapshot"
    async with Cluster(rbac=True, snapshot=file) as cluster:
        await grant(Raw(cluster.transport()), "jane", READ)
        uid = (await Raw(cluster.transport())("GET", f"{RBAC}/clusterroles/view")).body["metadata"]["uid"]
    async with Cluster(rbac=True, snapshot=file) as cluster:
        assert (await Raw(cluster.transport(user_named("jane")))("GET", MAPS)).status == 200
        assert (await Raw(cluster.transport())("GET", f"{RBAC}/clusterroles/view")).body["metadata"]["uid"] == uid


async def test_permissions_are_rewound_with_the_cluster(guarded: Cluster, admin: Raw, requests_as: As) -> None:
    jane = requests_as("jane")
    before = guarded.lab.snapshot()
    assert (await jane("GET", MAPS)).status == 403
    await grant(admin, "jane", READ)
    after = guarded.lab.snapshot()
    assert (await jane("GET", MAPS)).status == 200
    guarded.lab.rewind(before)
    assert (await jane("GET", MAPS)).status == 403
    guarded.lab.rewind(after)
    assert (await jane("GET", MAPS)).status == 200


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Impersonation supports user, groups, uid and extra, and needs permission.",
)
async def test_impersonation_changes_the_user_and_needs_permission(admin: Raw, requests_as: As) -> None:
    headers = {"Impersonate-User": "jane", "Impersonate-Extra-Team%2fName": "x"}
    got = await admin("POST", WHO, {}, headers=headers)
    assert got.body["status"]["userInfo"] == {
        "username": "jane",
        "groups": ["system:authenticated"],
        "extra": {"team/name": ["x"]},
    }
    got = await requests_as("john")("GET", MAPS, headers={"impersonate-user": "jane"})
    assert got.status == 403
    assert 'User "john" cannot impersonate-on:user-info:list resource "configmaps"' in got.body["message"]


async def test_ignores_undecodable_impersonation_headers(admin: Raw) -> None:
    got = await admin("POST", WHO, {}, headers={"Impersonate-User": "j\udcffne", "Impersonate-Group": "\udcff"})
    assert got.status == 201
    assert got.body["status"]["userInfo"]["username"] == "j?ne"
    got = await admin("GET", MAPS, headers={"Impersonate-User": "j\udcffne"})
    assert (got.status, 'User "j?ne" cannot list' in got.body["message"]) == (403, True)


async def test_impersonated_node_is_in_the_nodes_group(admin: Raw) -> None:
    got = await admin("POST", WHO, {}, headers={"Impersonate-User": "system:node:worker"})
    assert got.body["status"]["userInfo"]["groups"] == ["system:nodes", "system:authenticated"]


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Impersonation supports user, groups, uid and extra, and needs permission.",
)
async def test_impersonates_several_groups_over_https(tmp_path: Path) -> None:
    async with Cluster(rbac=True) as cluster:
        await cluster.serve()
        await grant(Raw(cluster.transport()), "jane", READ)
        binding = {
            "metadata": {"name": "staff"},
            "roleRef": {"kind": "ClusterRole", "name": "system:monitoring"},
            "subjects": [{"kind": "Group", "name": "second"}],
        }
        await Raw(cluster.transport())("POST", f"{RBAC}/clusterrolebindings", binding)
        config = load_config(kubeconfig=cluster.kubeconfig(tmp_path / "config"))
        who = Impersonation(user="jane", groups=("first", "second"), uid="7", extra=(("team", ("a", "b")),))
        async with Client(replace(config, impersonate=who)) as client:
            review = await client.create(SelfSubjectReview())
            assert review.status is not None
            info = review.status.user_info
            assert info is not None
            assert info.groups == ["first", "second", "system:authenticated"]
            assert (info.username, info.uid, info.extra) == ("jane", "7", {"team": ["a", "b"]})
            assert await client.list(core.ConfigMap, "default") is not None


async def test_in_process_administrator_may_do_everything(guarded: Cluster, admin: Raw) -> None:
    assert (await admin("GET", "/api/v1/secrets")).status == 200
    assert (await Raw(guarded.transport(User("root", ("system:masters",))))("GET", "/api/v1/secrets")).status == 200
    assert (await Raw(guarded.transport(User("root")))("GET", "/api/v1/secrets")).status == 403


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        ("jane", ("system:authenticated",)),
        ("system:anonymous", ("system:unauthenticated",)),
        ("system:serviceaccount:a:b", ("system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated")),
        ("system:serviceaccount:a", ("system:authenticated",)),
        ("system:serviceaccount:A_:b", ("system:authenticated",)),
    ],
)
def test_adds_implicit_groups_of_users(user: str, groups: tuple[str, ...]) -> None:
    assert user_named(user) == User(user, groups)
    assert user_named(user, ("staff",)).groups[-1:] == groups[-1:]


async def test_forgets_rules_of_deleted_roles(guarded: Cluster, admin: Raw, requests_as: As) -> None:
    for number in range(150):
        user = f"user-{number}"
        await grant(admin, user, READ)
        assert (await requests_as(user)("GET", MAPS)).status == 200
        for plural in ("rolebindings", "roles"):
            await admin("DELETE", f"{RBAC}/namespaces/default/{plural}/{user}")
        assert (await requests_as(user)("GET", MAPS)).status == 403
    policies = guarded.dispatcher.access.authorizer._policies
    assert len(policies._roles._known) < 150  # rules of deleted roles are dropped
