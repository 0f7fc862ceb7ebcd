"""Stored objects are rewritten to the storage version, on both clusters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kubewright.api import ObjectMeta, Untyped, admissionregistration, apiextensions, core, from_dict
from kubewright.client import Client, Forbidden, Invalid, MergePatch, NotFound, Request, Transport
from kubewright.cluster import Cluster
from kubewright.crd import MigrationError, StorageMigration, migrate_storage, wait_for_definition
from kubewright.testing import ControlPlane
from tests.kubernetes_versions import needs_kubernetes
from tests.patience import PATIENCE, until
from tests.transports.disturbed import Disturbed

CRD = apiextensions.CustomResourceDefinition


def definition(group: str, storage: str) -> CRD:
    versions = [
        {
            "name": version,
            "served": True,
            "storage": version == storage,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
        for version in ("v1", "v2")
    ]
    names = {"kind": "Crate", "plural": "crates", "shortNames": ["crt"]}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    return from_dict(CRD, {"metadata": {"name": f"crates.{group}"}, "spec": spec})


class Crates:
    """Objects that were stored in v1, after the storage version became v2."""

    def __init__(self, client: Client, group: str, namespace: str) -> None:
        self.client, self.group, self.namespace = client, group, namespace
        self.name = f"crates.{group}"
        self.kind = Untyped.kind_of(f"{group}/v1", "Crate", plural="crates")

    async def store(self, storage: str) -> None:
        await self.client.apply(definition(self.group, storage), force=True)
        await wait_for_definition(self.client, self.name, "Crate", 30.0)

    async def create(self, *names: str) -> None:
        for name in names:
            made = self.kind(metadata=ObjectMeta(name=name, namespace=self.namespace))
            made["spec"] = {"unknown": {"deep": [1, 2]}}
            await self.client.create(made)

    async def versions(self) -> dict[str, str]:
        found = await self.client.list(self.kind, self.namespace)
        return {one.metadata.name: one.metadata.resource_version for one in found}

    async def stored(self) -> list[str]:
        return (await self.client.get(CRD, self.name)).status.stored_versions or []


@pytest.fixture
async def crates(client: Client, namespace: str) -> AsyncIterator[Crates]:
    made = Crates(client, f"{namespace}.example.com", namespace)
    await made.store("v1")
    await made.create(*(f"c{number}" for number in range(7)))
    await made.store("v2")
    yield made
    await client.delete(CRD, made.name)


@pytest.mark.promise("Definitions from types", "`migrate_storage` stores every object in the storage version.")
@pytest.mark.clusters
async def test_rewrites_every_object_and_drops_the_old_version(client: Client, crates: Crates) -> None:
    await crates.create("new")  # stored in v2
    before, seen = await crates.versions(), []
    assert await crates.stored() == ["v1", "v2"]

    def report(progress: StorageMigration) -> None:
        seen.append((progress.done, progress.remaining))

    done = await migrate_storage(client, "Crate", page_size=3, method="client", report=report)
    assert (done.migrated, done.unchanged, done.skipped, done.failed) == (7, 1, 0, 0)
    assert (done.method, done.storage_version, done.dropped) == ("client", "v2", ("v1",))
    assert seen == [(3, 5), (6, 2), (8, None)]
    after = await crates.versions()
    assert {name for name in before if before[name] != after[name]} == before.keys() - {"new"}
    assert await crates.stored() == ["v2"] == list(done.stored_versions)
    found = await client.get(crates.kind, "c0", crates.namespace)
    assert found["spec"] == {"unknown": {"deep": [1, 2]}}
    assert found.metadata.generation == 1
    again = await migrate_storage(client, crates.name)
    assert (again.method, again.migrated) == ("none", 0)
    assert await crates.versions() == after


@pytest.mark.promise("Definitions from types", "A migration that was interrupted continues where it stopped.")
@pytest.mark.clusters
async def test_continues_after_an_interruption(client: Client, crates: Crates) -> None:
    def stop(progress: StorageMigration) -> None:
        raise KeyError("interrupted")

    with pytest.raises(KeyError):
        await migrate_storage(client, "crates", page_size=3, method="client", report=stop)
    assert await crates.stored() == ["v1", "v2"]
    done = await migrate_storage(client, "crt", page_size=3, method="client")
    assert (done.migrated, done.unchanged) == (4, 3)
    assert await crates.stored() == ["v2"]


@pytest.mark.clusters
async def test_dry_run_stores_nothing(client: Client, crates: Crates) -> None:
    before = await crates.versions()
    done = await migrate_storage(client, crates.name, dry_run=True)
    assert (done.migrated, done.dropped, done.dry_run) == (7, ("v1",), True)
    assert await crates.versions() == before
    assert await crates.stored() == ["v1", "v2"]


def before_first(matches: Callable[[Request], bool], work: Callable[[], Any]) -> Callable[[Transport], Transport]:
    """Calls a function before the first request that matches."""
    called = False

    async def call(request: Request) -> None:
        nonlocal called
        if not called and matches(request):
            called = True
            await work()

    return lambda inner: Disturbed(inner, call)


@pytest.mark.promise("Definitions from types", "A migration never overwrites what other clients write.")
@pytest.mark.clusters
async def test_skips_objects_that_other_clients_write_or_delete(client: Client, crates: Crates) -> None:
    async def others() -> None:
        change = MergePatch({"spec": {"size": 5}})
        await client.patch(crates.kind, "c1", change, crates.namespace)
        await client.delete(crates.kind, "c2", crates.namespace)
        await client.delete(crates.kind, "c3", crates.namespace)
        await crates.create("c3")  # another object of that name

    disturbed = client.through(before_first(lambda request: request.method == "PATCH", others))
    done = await migrate_storage(disturbed, "crates", method="client", concurrency=1)
    assert (done.migrated, done.skipped, done.failed) == (4, 3, 0)
    assert (await client.get(crates.kind, "c1", crates.namespace))["spec"]["size"] == 5
    assert await crates.stored() == ["v2"]


@pytest.mark.clusters
async def test_retries_a_conflict_about_the_definition(client: Client, crates: Crates) -> None:
    async def other() -> None:
        await client.patch(CRD, crates.name, MergePatch({"metadata": {"labels": {"changed": "yes"}}}))

    disturbed = client.through(before_first(lambda request: request.path.endswith("/status"), other))
    await migrate_storage(disturbed, "crates", method="client")
    assert await crates.stored() == ["v2"]


@pytest.mark.clusters
async def test_keeps_stored_versions_if_the_storage_version_changes(client: Client, crates: Crates) -> None:
    async def back() -> None:
        await crates.store("v1")

    disturbed = client.through(before_first(lambda request: request.method == "PATCH", back))
    with pytest.raises(MigrationError, match="changed its storage version during the migration; repeat it"):
        await migrate_storage(disturbed, "crates", method="client")
    assert await crates.stored() == ["v1", "v2"]


@pytest.mark.promise("Definitions from types", "Old versions stay listed while an object cannot be migrated.")
@pytest.mark.clusters
async def test_reports_objects_that_cannot_be_written(client: Client, crates: Crates) -> None:
    await _forbid(client, crates, "c4")
    with pytest.raises(MigrationError, match=r"1 of 7 objects of crates\..* cannot be written") as caught:
        await migrate_storage(client, "crates", method="client")
    result = caught.value.result
    assert (result.migrated, result.failed) == (6, 1)
    assert "c4" in result.failures[0]
    assert await crates.stored() == ["v1", "v2"]


async def _forbid(client: Client, crates: Crates, name: str) -> None:
    """Adds a policy that rejects changes of one object, and waits until it works."""
    policy = {
        "metadata": {"name": crates.group},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [crates.group],
                        "apiVersions": ["*"],
                        "operations": ["UPDATE"],
                        "resources": ["crates"],
                    }
                ]
            },
            "validations": [{"expression": f"object.metadata.name != '{name}'", "message": "never"}],
        },
    }
    binding = {
        "metadata": {"name": crates.group},
        "spec": {"policyName": crates.group, "validationActions": ["Deny"]},
    }
    await client.create(from_dict(admissionregistration.ValidatingAdmissionPolicy, policy))
    await client.create(from_dict(admissionregistration.ValidatingAdmissionPolicyBinding, binding))

    async def is_forbidden() -> bool:
        try:
            await client.patch(crates.kind, name, MergePatch({"spec": {"a": 1}}), crates.namespace, dry_run=True)
        except (Forbidden, Invalid):
            return True
        return False

    await until(is_forbidden)


async def test_continues_a_list_that_expired() -> None:
    async with Cluster() as cluster, cluster.client() as client:
        crates = Crates(client, "expired.example.com", "default")
        await crates.store("v1")
        await crates.create("a", "b", "c", "d")
        await crates.store("v2")

        async def compact() -> None:
            cluster.compact()

        def follows(request: Request) -> bool:
            return any(name == "continue" for name, _ in request.query)

        disturbed = client.through(before_first(follows, compact))
        done = await migrate_storage(disturbed, "crates", page_size=2, method="client")
        assert done.migrated == 4
        assert await crates.stored() == ["v2"]


async def test_unknown_kind_gets_a_suggestion() -> None:
    async with Cluster() as cluster, cluster.client() as client:
        with pytest.raises(NotFound, match=r"does not serve confgmaps; did you mean configmaps\?"):
            await migrate_storage(client, "confgmaps")


async def test_built_in_kinds_are_rewritten_too() -> None:
    async with Cluster() as cluster, cluster.client() as client:
        await client.create(core.ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        done = await migrate_storage(client, core.ConfigMap, method="client")
        assert done.unchanged >= 1
        assert (done.storage_version, done.failed) == ("", 0)


SERVED = needs_kubernetes(35, "storage migrations of storagemigration.k8s.io/v1beta1")


@SERVED
@pytest.mark.control_plane
@pytest.mark.timeout(300)
async def test_uses_storage_version_migration_where_it_is_served() -> None:
    """The API is beta, and not served by default."""
    plane = ControlPlane(
        feature_gates={"StorageVersionMigrator": True, "InformerResourceVersion": True},
        apiserver_flags={"runtime-config": "storagemigration.k8s.io/v1beta1=true"},
        controller_manager_flags={"feature-gates": "StorageVersionMigrator=true,InformerResourceVersion=true"},
    )
    async with plane, Client.connect(kubeconfig=plane.kubeconfig) as client:
        crates = Crates(client, "server.example.com", "default")
        await crates.store("v1")
        await crates.create("a", "b")
        await crates.store("v2")
        before = await crates.versions()
        # Started now, the controller knows the kind; otherwise, it learns of it after two minutes.
        await asyncio.to_thread(plane.ensure_controllers)
        done = await migrate_storage(client, "crates", method="server", timeout="4m")
        assert (done.method, done.dropped, done.stored_versions) == ("server", ("v1",), ("v2",))
        assert all(before[name] != version for name, version in (await crates.versions()).items())
        assert await crates.stored() == ["v2"]
        kind = await client.kind("storagemigration.k8s.io", "StorageVersionMigration")
        assert await client.list(kind) == []


@SERVED
@pytest.mark.control_plane
@pytest.mark.timeout(300)
async def test_writes_from_the_client_if_no_controller_migrates() -> None:
    plane = ControlPlane(
        feature_gates={"StorageVersionMigrator": True, "InformerResourceVersion": True},
        apiserver_flags={"runtime-config": "storagemigration.k8s.io/v1beta1=true"},
    )
    async with plane, Client.connect(kubeconfig=plane.kubeconfig) as client:
        crates = Crates(client, "server.example.com", "default")
        await crates.store("v1")
        await crates.create("a", "b")
        await crates.store("v2")
        done = await migrate_storage(client, "crates")
        assert (done.method, done.migrated) == ("client", 2)


async def test_server_method_is_refused_without_the_api() -> None:
    async with Cluster() as cluster, cluster.client() as client:
        crates = Crates(client, "refused.example.com", "default")
        await crates.store("v1")
        await crates.store("v2")
        with pytest.raises(MigrationError, match="the server has no StorageVersionMigration"):
            await asyncio.wait_for(migrate_storage(client, "crates", method="server"), PATIENCE)
