"""A self-managed certificate on both clusters: made once, trusted, repaired; by any number of replicas."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio
from msgspec.structs import replace

import kubewright as kw
from kubewright.api import ObjectMeta, admissionregistration, apiextensions, core, rbac
from kubewright.api.meta.v1 import LabelSelector
from kubewright.client import (
    Client,
    Forbidden,
    Impersonation,
    NotFound,
    Request,
    RetryPolicy,
    Status,
    Unavailable,
)
from kubewright.clock import SystemClock
from kubewright.manifests import Project, webhook_configurations
from kubewright.manifests.manager import certificate_access
from kubewright.webhook import WebhookDeployment
from kubewright.webhook.certificates import (
    CertificateError,
    CertificatePolicy,
    CertificateReconciler,
    SelfManaged,
    StoredCertificate,
    expiry_problem,
)
from tests.patience import until
from tests.transports.disturbed import Disturbed
from tests.webhook.certificates.authorities import is_trusted, served
from tests.webhook.certificates.objects import address, bundles, secret_of, validating

pytestmark = pytest.mark.clusters

CLOCK = SystemClock()


@pytest_asyncio.fixture
async def asked(client: Client, namespace: str) -> AsyncIterator[WebhookDeployment]:
    """An operator whose webhook configuration is there: one address is its own, the others are not."""
    elsewhere = admissionregistration.WebhookClientConfig(url="https://127.0.0.1:9/validate")
    configuration = validating(namespace, address(namespace), address(namespace, "another"), elsewhere)
    for webhook in configuration.webhooks or ():
        webhook.failure_policy = "Ignore"
    await client.create(configuration)
    yield served(client, CLOCK, namespace, validating=configuration.metadata.name)
    await client.delete(type(configuration), str(configuration.metadata.name))


@pytest.mark.promise("The certificate of the webhooks", "A self-managed certificate is made and trusted at the start.")
async def test_creates_secret_and_injects_bundle_at_start(asked: WebhookDeployment) -> None:
    async with SelfManaged(asked) as source:
        own, another, elsewhere = await bundles(asked.client, asked.namespace)
        assert (own, another, elsewhere) == (source.ca_bundle, None, None)
        assert is_trusted(source.pair, source.ca_bundle, CLOCK.now(), asked.hosts[0])
        assert expiry_problem(source, CLOCK.now()) is None
        secret = await secret_of(asked)
        assert secret.type == "kubernetes.io/tls"
        assert secret.metadata.labels == {
            "app.kubernetes.io/managed-by": "kubewright",
            "app.kubernetes.io/name": "made",
        }
        assert sorted(secret.data or {}) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
        first = source.pair
    async with SelfManaged(asked) as again:
        assert again.pair == first, "what is there is used, not made again"


@pytest.mark.promise("The certificate of the webhooks", "A self-managed certificate is made and trusted at the start.")
async def test_a_definition_with_conversion_trusts_it_too(client: Client, namespace: str) -> None:
    group = f"{namespace}.example.com"
    version = apiextensions.CustomResourceDefinitionVersion(
        name="v1",
        served=True,
        storage=True,
        schema=apiextensions.CustomResourceValidation(open_api_v3_schema=apiextensions.JSONSchemaProps(type="object")),
    )
    service = apiextensions.ServiceReference(namespace=namespace, name="made-webhook", path="/convert")
    definition = apiextensions.CustomResourceDefinition(
        metadata=ObjectMeta(name=f"turned.{group}"),
        spec=apiextensions.CustomResourceDefinitionSpec(
            group=group,
            names=apiextensions.CustomResourceDefinitionNames(plural="turned", kind="Turned"),
            scope="Namespaced",
            versions=[version],
            conversion=apiextensions.CustomResourceConversion(
                strategy="Webhook",
                webhook=apiextensions.WebhookConversion(
                    conversion_review_versions=["v1"],
                    client_config=apiextensions.WebhookClientConfig(service=service),
                ),
            ),
        ),
    )
    await client.create(definition)
    try:
        of = served(client, CLOCK, namespace, definitions=(str(definition.metadata.name),))
        async with SelfManaged(of) as source:
            found = await client.get(apiextensions.CustomResourceDefinition, f"turned.{group}")
            assert found.spec.conversion is not None
            assert found.spec.conversion.webhook is not None
            assert found.spec.conversion.webhook.client_config is not None
            assert found.spec.conversion.webhook.client_config.ca_bundle == source.ca_bundle
    finally:
        await client.delete(apiextensions.CustomResourceDefinition, f"turned.{group}")


@pytest.mark.promise("The certificate of the webhooks", "Replicas that start at once serve one certificate.")
async def test_replicas_that_start_concurrently_serve_one_certificate(asked: WebhookDeployment) -> None:
    for number in range(10):
        of = served(asked.client, CLOCK, asked.namespace, validating=asked.validating, secret=f"race-{number}")
        replicas = [CertificateReconciler(of) for _ in range(4)]
        await asyncio.gather(*(replica.reconcile() for replica in replicas))
        leaves = {replica.stored.leaf.certificate for replica in replicas if replica.stored}
        assert leaves == {(await secret_of(of)).data["tls.crt"]}  # type: ignore[index]
        (own, *_) = await bundles(of.client, of.namespace)
        assert own == (await secret_of(of)).data["ca.crt"]  # type: ignore[index]


@pytest.mark.promise(
    "The certificate of the webhooks",
    "A bundle that is emptied and a Secret that is deleted or spoiled are repaired.",
)
async def test_restores_removed_bundle(asked: WebhookDeployment) -> None:
    async with SelfManaged(asked) as source:
        found = await asked.client.get(admissionregistration.ValidatingWebhookConfiguration, str(asked.validating))
        assert found.webhooks is not None
        found.webhooks[0].client_config.ca_bundle = None
        await asked.client.update(found)

        async def repaired() -> bool:
            return (await bundles(asked.client, asked.namespace))[0] == source.ca_bundle

        await until(repaired)


@pytest.mark.promise("The certificate of the webhooks", "A self-managed certificate is made and trusted at the start.")
async def test_injects_bundle_into_later_configuration(client: Client, namespace: str) -> None:
    configuration = validating(namespace, address(namespace))
    of = served(client, CLOCK, namespace, validating=configuration.metadata.name)
    async with SelfManaged(of) as source:
        assert configuration.webhooks is not None
        configuration.webhooks[0].failure_policy = "Ignore"
        await client.create(configuration)
        try:

            async def is_trusted_now() -> bool:
                return await bundles(client, namespace) == [source.ca_bundle]

            await until(is_trusted_now)
        finally:
            await client.delete(type(configuration), str(configuration.metadata.name))


@pytest.mark.promise(
    "The certificate of the webhooks",
    "A bundle that is emptied and a Secret that is deleted or spoiled are repaired.",
)
@pytest.mark.promise("The certificate of the webhooks", "No private key of a certificate is shown.")
@pytest.mark.parametrize("how", ["deleted", "emptied", "spoiled", "without a key"])
async def test_recreates_corrupted_secret_without_interruption(
    how: str, asked: WebhookDeployment, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    policy = CertificatePolicy(name="made", hosts=asked.hosts, settle=1.0)
    async with SelfManaged(asked, policy=policy) as source, SelfManaged(asked, policy=policy) as other:
        old, old_key = source.pair, (await secret_of(asked)).data["ca.key"]  # type: ignore[index]
        if how == "deleted":
            await asked.client.delete(core.Secret, asked.secret, asked.namespace)
        else:
            secret = await secret_of(asked)
            assert secret.data is not None
            if how == "without a key":
                del secret.data["ca.key"]
            else:
                spoiled = b"" if how == "emptied" else b"nonsense"
                secret.data = dict.fromkeys(secret.data, spoiled)
            await asked.client.update(secret)

        async def renewed() -> bool:
            pairs = (source.pair, other.pair)  # before the bundle is read
            (bundle, *_) = await bundles(asked.client, asked.namespace)
            assert bundle is not None
            for pair in pairs:
                assert is_trusted(pair, bundle, CLOCK.now(), asked.hosts[0]), "the served certificate is not trusted"
            return old not in pairs

        await until(renewed)
        assert source.pair == other.pair
        stored = StoredCertificate.read((await secret_of(asked)).data or {})
        assert stored.leaf == source.pair
        assert old_key not in stored.data().values()
    assert "PRIVATE KEY" not in caplog.text


@pytest.mark.promise("The certificate of the webhooks", "A Secret of another program is not changed.")
@pytest.mark.parametrize(
    "labels", [{}, {"app.kubernetes.io/managed-by": "kubewright", "app.kubernetes.io/name": "another"}]
)
async def test_keeps_secret_of_another_program(labels: dict[str, str], client: Client, namespace: str) -> None:
    of = served(client, CLOCK, namespace)
    meta = ObjectMeta(name=of.secret, namespace=namespace, labels=labels)
    await client.create(core.Secret(metadata=meta, data={"tls.crt": b"theirs"}))
    with pytest.raises(CertificateError) as caught:
        await CertificateReconciler(of).reconcile()
    assert str(caught.value) == (
        f"the Secret {namespace}/made-webhook-certificate exists, but another program created it: delete it, choose"
        " another name with --webhook-secret, or use its certificate with --webhook-certificates=files"
    )
    assert (await secret_of(of)).data == {"tls.crt": b"theirs"}


@pytest.mark.promise(
    "The certificate of the webhooks",
    "A replica that is behind cannot take a new authority out of a bundle again.",
)
async def test_replica_that_is_behind_cannot_remove_new_ca(asked: WebhookDeployment) -> None:
    policy = CertificatePolicy(name="made", hosts=asked.hosts, settle=3600)
    ahead, behind = CertificateReconciler(asked, policy), CertificateReconciler(asked, policy)
    await asyncio.gather(ahead.reconcile(), behind.reconcile())
    secret = await secret_of(asked)
    assert secret.data is not None
    del secret.data["ca.key"]  # so that a new authority is made
    await asked.client.update(secret)
    await ahead.reconcile()
    (both, *_) = await bundles(asked.client, asked.namespace)
    assert both is not None
    assert both.count(b"BEGIN CERTIFICATE") == 2
    for _ in range(3):
        await asyncio.gather(behind.reconcile(), ahead.reconcile())
        assert (await bundles(asked.client, asked.namespace))[0] == both


def test_default_lifetimes_leave_time_for_renewal() -> None:
    policy = CertificatePolicy(name="made", hosts=())
    assert policy.life < policy.authority_life / 3
    assert policy.life >= timedelta(days=30)


@pytest.mark.promise(
    "The certificate of the webhooks",
    "The roles for a self-managed certificate are derived, by name, and enough.",
)
@pytest.mark.clusters("real")
async def test_derived_roles_are_exact(client: Client, namespace: str) -> None:
    """Everything as the service account of the manifests, who may do only what they say."""
    program = kw.Operator(f"of-{namespace}")

    @program.validates(core.ConfigMap)
    def check(config: core.ConfigMap) -> None: ...

    project = Project(operator=program, target="program.py", namespace=namespace)
    account = f"system:serviceaccount:{namespace}:{project.prefix}"
    made = [*certificate_access(project), *webhook_configurations(project)]
    for one in made:
        for webhook in getattr(one, "webhooks", None) or ():
            webhook.failure_policy = "Ignore"
            webhook.namespace_selector = LabelSelector(match_labels={"kubernetes.io/metadata.name": namespace})
        await client.create(one)
    assert client._config is not None
    config = replace(client._config, impersonate=Impersonation(user=account))
    try:
        async with Client(config) as limited:
            of = served(
                limited,
                CLOCK,
                namespace,
                service=f"{project.prefix}-webhook",
                secret=project.certificate_secret,
                validating=project.prefix,
            )
            async with SelfManaged(of, policy=CertificatePolicy(name="made", hosts=of.hosts, settle=0.0)) as source:
                first = source.pair
                await client.delete(core.Secret, of.secret, namespace)

                async def renewed() -> bool:
                    found = await client.get(admissionregistration.ValidatingWebhookConfiguration, project.prefix)
                    bundle = found.webhooks[0].client_config.ca_bundle if found.webhooks else None
                    return first != source.pair and bundle == source.ca_bundle

                await until(renewed)
                await without_permissions(source, of, client, project)
            for refused in (
                limited.get(core.Secret, "another", namespace),
                limited.delete(core.Secret, of.secret, namespace),
                limited.get(core.Secret, of.secret, "default"),
                limited.get(admissionregistration.ValidatingWebhookConfiguration, "another"),
            ):
                with pytest.raises(Forbidden):
                    await refused
    finally:
        for one in made:
            with contextlib.suppress(NotFound):
                await client.delete(type(one), str(one.metadata.name), one.metadata.namespace or None)


async def without_permissions(source: SelfManaged, of: WebhookDeployment, client: Client, project: Project) -> None:
    """Who may not look at the configuration any more still serves what other replicas have renewed."""
    await client.delete(rbac.ClusterRoleBinding, f"{project.prefix}-webhook-certificate")
    async with SelfManaged(
        replace(of, client=client), policy=CertificatePolicy(name="made", hosts=of.hosts, settle=0.0)
    ) as other:
        old = source.pair
        await client.delete(core.Secret, of.secret, of.namespace)

        async def renewed() -> bool:
            return old != source.pair == other.pair

        await until(renewed)


@pytest.mark.promise(
    "The certificate of the webhooks",
    "While the server is away, the certificate goes on being served.",
)
@pytest.mark.clusters("embedded")
async def test_serves_certificate_while_api_server_is_unavailable(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    away = False

    def refuse_reads(request: Request) -> None:
        if away and request.verb == "get":  # watches continue
            raise Unavailable(Status(code=503, message="the server is away"))

    disturbed = client.through(lambda inner: Disturbed(inner, refuse_reads), retry=RetryPolicy(attempts=1))
    of = served(disturbed, CLOCK, namespace)
    async with SelfManaged(of, policy=CertificatePolicy(name="made", hosts=of.hosts, settle=0.0)) as source:
        first = source.pair
        away = True
        await client.delete(core.Secret, of.secret, namespace)

        async def logged() -> bool:
            return "reconciling the webhook certificate failed: the server is away" in caplog.text

        await until(logged)
        assert source.pair is first
        away = False

        async def renewed() -> bool:
            return source.pair != first

        await until(renewed)
