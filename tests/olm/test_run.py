"""Installs a bundle through OLM, which an operator of these tests simulates, and removes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from kubewright.api import Object, ObjectMeta, apiextensions, apps, core, from_dict
from kubewright.client import Client, NotFound
from kubewright.crd import install
from kubewright.olm import (
    Bundle,
    CatalogSource,
    ClusterServiceVersion,
    Installation,
    NotInstalled,
    OperatorGroup,
    OperatorGroupSpec,
    Subscription,
    prepare,
    remove,
    run,
    validate,
)

# private: reads one state of OLM; `run` would wait for its timeout
from kubewright.olm._diagnosis import what_is_missing
from tests.olm.fake_olm import Plan, fake_olm
from tests.olm.projects import LISTING, Book, Shelf, plain
from tests.olm.validator import BUILD_SECONDS
from tests.patience import PATIENCE, until

pytestmark = [pytest.mark.clusters, pytest.mark.timeout(BUILD_SECONDS)]

R = TypeVar("R", bound=Object)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    prepare(tmp_path / "bundle", plain(), LISTING).write()
    return Bundle.read(tmp_path / "bundle")


@pytest.fixture
def installation(bundle: Bundle, namespace: str) -> Installation:
    return Installation(bundle=bundle, namespace=namespace)


class Steps(list[str]):
    """The reported steps."""

    def __call__(self, did: str, what: str) -> None:
        self.append(f"{did} {what}")


async def find(client: Client, kind: type[R], name: str, namespace: str) -> R | None:
    try:
        return await client.get(kind, name, namespace)
    except NotFound:
        return None


@pytest.mark.promise("Packages for OLM", "A bundle is installed through OLM's kinds, and removed again.")
@pytest.mark.usefixtures("olm")
async def test_installs_and_removes_a_bundle(client: Client, namespace: str, installation: Installation) -> None:
    steps = Steps()
    async with fake_olm(client, namespace, Plan()).running(client, install_crds=False):
        await run(client, installation, steps, timeout=PATIENCE)
        await run(client, installation, Steps(), timeout=PATIENCE)  # changes nothing
    group = await client.get(OperatorGroup, "shelf-operator", namespace)
    assert group.spec is None or not group.spec.target_namespaces
    source = await client.get(CatalogSource, "shelf-operator-catalog", namespace)
    assert source.spec.address == f"shelf-operator-catalog.{namespace}.svc:50051"
    server = await client.get(apps.Deployment, "shelf-operator-catalog", namespace)
    [opm] = server.spec.template.spec.containers
    assert {mount.mount_path: mount.sub_path for mount in opm.volume_mounts or []} == {
        "/configs/catalog.yaml": "catalog.yaml",  # opm would find it twice in a mounted folder
        "/tmp": None,  # private to the pod
    }
    subscription = await client.get(Subscription, "shelf-operator", namespace)
    assert (subscription.spec.channel, subscription.spec.starting_csv) == ("stable", "shelf-operator.v1.2.0")
    assert steps[-1] == "waiting ClusterServiceVersion shelf-operator.v1.2.0: Succeeded"
    assert f"applied Subscription {namespace}/shelf-operator" in steps

    await install(client, Shelf, Book)
    steps = Steps()
    await remove(client, installation, steps, timeout=PATIENCE)
    assert steps[:2] == [
        "removed CustomResourceDefinition books.olmtest.example.com",
        "removed CustomResourceDefinition shelves.olmtest.example.com",
    ]
    for kind, name in (
        (Subscription, "shelf-operator"),
        (ClusterServiceVersion, "shelf-operator.v1.2.0"),
        (OperatorGroup, "shelf-operator"),
        (CatalogSource, "shelf-operator-catalog"),
        (apps.Deployment, "shelf-operator-catalog"),
        (core.Service, "shelf-operator-catalog"),
        (core.ConfigMap, "shelf-operator-catalog"),
    ):
        assert await find(client, kind, name, namespace) is None, name
    assert (await client.get(core.Namespace, namespace)).metadata.deletion_timestamp is None  # `run` did not create it
    again = Steps()
    await remove(client, installation, again, timeout=PATIENCE)
    assert {line.partition(" ")[0] for line in again} == {"absent"}


@pytest.mark.usefixtures("olm")
async def test_an_index_image_needs_no_catalog_server(client: Client, namespace: str, bundle: Bundle) -> None:
    image = "registry.example.com/shelf-catalog:latest"
    asked = Installation(bundle=bundle, namespace=namespace, index_image=image, targets=["team-a"])
    async with fake_olm(client, namespace, Plan()).running(client, install_crds=False):
        await run(client, asked, Steps(), timeout=PATIENCE)
    source = await client.get(CatalogSource, "shelf-operator-catalog", namespace)
    assert (source.spec.source_type, source.spec.image, source.spec.address) == ("grpc", image, None)
    assert await find(client, apps.Deployment, "shelf-operator-catalog", namespace) is None
    group = await client.get(OperatorGroup, "shelf-operator", namespace)
    assert group.spec is not None
    assert group.spec.target_namespaces == ["team-a"]


@pytest.mark.promise("Packages for OLM", "If OLM does not install a bundle, the error names what is missing.")
@pytest.mark.usefixtures("olm")
async def test_a_timeout_names_what_is_missing(client: Client, installation: Installation) -> None:
    with pytest.raises(NotInstalled) as caught:
        await run(client, installation, Steps(), timeout=0.01)
    assert str(caught.value) == (
        "shelf-operator.v1.2.0 is not installed after 10ms: the server of the catalog, Deployment"
        f" {installation.namespace}/shelf-operator-catalog, has no ready pod; its image is"
        " operator-framework/opm:latest"
    )


@asynccontextmanager
async def stuck(client: Client, installation: Installation, plan: Plan) -> AsyncIterator[None]:
    """Runs an installation that never completes."""
    async with fake_olm(client, installation.namespace, plan).running(client, install_crds=False):
        task = asyncio.create_task(run(client, installation, Steps(), timeout=PATIENCE))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@pytest.mark.promise("Packages for OLM", "If OLM does not install a bundle, the error names what is missing.")
@pytest.mark.usefixtures("olm")
@pytest.mark.parametrize(
    ("stop_at", "says"),
    [
        ("catalog", "its state is CONNECTING (is OLM running?)"),
        (
            "subscription",
            "OLM has created no InstallPlan for the Subscription shelf-operator (ResolutionFailed: too old)",
        ),
        (
            "version",
            "the ClusterServiceVersion shelf-operator.v1.2.0 is in the phase Pending (RequirementsNotMet: too old);"
            " missing requirements: CustomResourceDefinition shelves: CRD is not present",
        ),
    ],
)
async def test_reports_the_progress_of_olm_with_its_messages(
    client: Client, bundle: Bundle, namespace: str, stop_at: str, says: str
) -> None:
    asked = Installation(bundle=bundle, namespace=namespace, index_image="registry.example.com/catalog:1")
    async with stuck(client, asked, Plan(stop_at, "too old")):

        async def reports_it() -> bool:
            return says in await what_is_missing(client, asked)

        async def is_subscribed() -> bool:
            return await find(client, Subscription, "shelf-operator", namespace) is not None

        await until(is_subscribed)
        await until(reports_it)


@pytest.mark.promise("Packages for OLM", "If OLM does not install a bundle, the error names what is missing.")
@pytest.mark.usefixtures("olm")
async def test_a_failed_plan_ends_the_wait(client: Client, installation: Installation) -> None:
    async with fake_olm(client, installation.namespace, Plan("plan", "forbidden here")).running(
        client, install_crds=False
    ):
        with pytest.raises(NotInstalled, match="failed: Installed: forbidden here"):
            await run(client, installation, Steps(), timeout=PATIENCE)


@pytest.mark.usefixtures("olm")
async def test_uses_an_existing_operator_group_if_it_fits(client: Client, namespace: str, bundle: Bundle) -> None:
    metadata = ObjectMeta(name="theirs", namespace=namespace)
    await client.create(OperatorGroup(metadata=metadata, spec=OperatorGroupSpec(target_namespaces=[namespace])))
    with pytest.raises(NotInstalled, match=rf"theirs selects {namespace}, but .* for all namespaces"):
        await run(client, Installation(bundle=bundle, namespace=namespace), Steps(), timeout=PATIENCE)
    assert await find(client, Subscription, "shelf-operator", namespace) is None

    steps = Steps()
    asked = Installation(bundle=bundle, namespace=namespace, install_mode="OwnNamespace")
    async with fake_olm(client, namespace, Plan()).running(client, install_crds=False):
        await run(client, asked, steps, timeout=PATIENCE)
    assert f"kept OperatorGroup {namespace}/theirs" in steps
    await remove(client, asked, Steps(), definitions=False, timeout=PATIENCE)
    assert await find(client, OperatorGroup, "theirs", namespace) is not None


@pytest.mark.promise("Packages for OLM", "A cluster accepts a generated ClusterServiceVersion with all of its fields.")
@pytest.mark.usefixtures("olm")
async def test_a_cluster_accepts_a_generated_service_version_and_rejects_an_invalid_one(
    client: Client, namespace: str, bundle: Bundle, cluster_kind: str
) -> None:
    content = {**bundle.csv, "metadata": {**bundle.csv["metadata"], "namespace": namespace}}
    kind = await client.kind("operators.coreos.com/v1alpha1", "ClusterServiceVersion")
    made = await client.create(from_dict(kind, content), dry_run=True)
    assert made["spec"]["install"] == bundle.spec["install"]  # no field was dropped as unknown

    # operator-framework's validator accepts a number as a string. A cluster does not, so Kubewright does not either.
    content["spec"] = {**content["spec"], "keywords": [1]}
    broken = Bundle(folder=bundle.folder, manifests={bundle.csv_path: content}, annotations=bundle.annotations)
    assert any(one.field == "spec.keywords[0]" for one in validate(broken).errors)
    with pytest.raises(Exception, match=r"spec.keywords\[0\]"):
        await client.create(from_dict(kind, content), dry_run=True)


@pytest.mark.clusters("embedded")
async def test_reports_a_cluster_without_olm(client: Client, installation: Installation) -> None:
    with pytest.raises(NotInstalled, match="the Operator Lifecycle Manager is not installed in this cluster"):
        await run(client, installation, Steps(), timeout=PATIENCE)
    assert await client.list(apps.Deployment, installation.namespace) == []
    with pytest.raises(NotFound):
        await client.get(apiextensions.CustomResourceDefinition, "subscriptions.operators.coreos.com")
