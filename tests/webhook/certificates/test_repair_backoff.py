"""Objects that another program also writes, or that cannot be read; and clocks that differ."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio
from msgspec.structs import replace

from kubewright.api import admissionregistration, core
from kubewright.certificates import CertificateAuthority
from kubewright.client import Client, Forbidden, Request, Status
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.webhook import WebhookDeployment
from kubewright.webhook.certificates import CertificateReconciler
from tests.transports.disturbed import Disturbed
from tests.webhook.certificates.authorities import served
from tests.webhook.certificates.objects import address, bundles, validating

KIND = admissionregistration.ValidatingWebhookConfiguration
NAME = "certificates-default"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest_asyncio.fixture
async def of(clock: VirtualClock) -> AsyncIterator[WebhookDeployment]:
    async with Cluster(clock=clock, controllers=False) as cluster, cluster.client() as client:
        await client.create(validating("default", address("default")))
        yield served(client.writing_as("made"), clock, "default", validating=NAME)


async def undo(client: Client, bundle: bytes | None) -> None:
    """Write something else, as a program does that takes the bundle for its own."""
    found = await client.get(KIND, NAME)
    assert found.webhooks is not None
    found.webhooks[0].client_config.ca_bundle = bundle
    await client.writing_as("gitops").update(found)


class Quarrel:
    """Another program that immediately undoes each repair."""

    def __init__(self, of: WebhookDeployment, clock: VirtualClock) -> None:
        self.reconciler = CertificateReconciler(of)
        self._of, self._clock = of, clock
        self._theirs = CertificateAuthority("theirs").pair.certificate

    async def round(self) -> float:
        """Undo it, and the seconds until it is repaired."""
        await undo(self._of.client, self._theirs)
        began = self._clock.monotonic()
        while True:
            pause = await self.reconciler.reconcile()
            assert self.reconciler.stored is not None
            if await bundles(self._of.client, "default") == [self.reconciler.stored.bundle]:
                return self._clock.monotonic() - began
            await self._clock.advance(pause)


@pytest.mark.promise(
    "The certificate of the webhooks",
    "A bundle that another program keeps undoing is repaired ever more rarely, and that program is named; one "
    "object's trouble does not keep others from being repaired.",
)
async def test_repeated_repairs_back_off_and_name_the_field_manager(
    of: WebhookDeployment, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    quarrel = Quarrel(of, clock)
    await quarrel.reconciler.reconcile()
    assert [await quarrel.round() for _ in range(12)] == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    [logged] = [record for record in caplog.records if "does not stay" in record.message]
    assert logged.levelno == logging.WARNING
    assert logged.message == (
        f"the CA bundle that this operator writes into ValidatingWebhookConfiguration {NAME} does not stay: the"
        " field manager 'gitops' writes it too. Let only one program write it. Until then the delay between repairs"
        " grows to 5m"
    )
    for _ in range(12):
        await quarrel.round()
    assert caplog.text.count("does not stay") == 2, "once in an hour"
    await clock.advance(900.0)
    assert await quarrel.round() == 0, "peace was made"


async def test_removed_bundle_names_no_field_manager(
    of: WebhookDeployment, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    reconciler = CertificateReconciler(of)
    pause = await reconciler.reconcile()
    for _ in range(4):
        await undo(of.client, None)
        pause = await reconciler.reconcile()
        await clock.advance(pause)
        await reconciler.reconcile()
    assert (
        "does not stay: another program removes it, and managedFields does not name the program. Let only"
        in caplog.text
    )


async def test_writes_another_bundle_immediately_during_backoff(of: WebhookDeployment, clock: VirtualClock) -> None:
    quarrel = Quarrel(of, clock)
    await quarrel.reconciler.reconcile()
    for _ in range(5):
        await quarrel.round()
    await undo(of.client, None)
    await quarrel.reconciler.reconcile()
    assert await bundles(of.client, "default") == [None], "it is not yet written again"
    await of.client.delete(core.Secret, of.secret, of.namespace)
    await quarrel.reconciler.reconcile()
    assert quarrel.reconciler.stored is not None
    assert await bundles(of.client, "default") == [quarrel.reconciler.stored.bundle]


@pytest.mark.promise(
    "The certificate of the webhooks",
    "A bundle that another program keeps undoing is repaired ever more rarely, and that program is named; one "
    "object's trouble does not keep others from being repaired.",
)
async def test_an_object_that_cannot_be_read_does_not_keep_others_from_being_repaired(of: WebhookDeployment) -> None:
    def refuse(request: Request) -> None:
        if "customresourcedefinitions" in request.path:
            raise Forbidden(Status(code=403, message="definitions are not for you"))

    client = of.client.through(lambda inner: Disturbed(inner, refuse))
    limited = replace(of, client=client, definitions=("toys.webhooks.example.com",))
    reconciler = CertificateReconciler(limited)
    for _ in range(2):
        await undo(of.client, None)
        with pytest.raises(Forbidden, match="definitions are not for you"):
            await reconciler.reconcile()
        assert reconciler.stored is not None
        assert await bundles(of.client, "default") == [reconciler.stored.bundle]


@pytest.mark.promise("The certificate of the webhooks", "A difference between the clocks of pods is logged.")
@pytest.mark.parametrize("ahead", [timedelta(minutes=7), timedelta(days=2)])
async def test_logs_clock_difference_once_per_certificate(
    ahead: timedelta, of: WebhookDeployment, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    await CertificateReconciler(replace(of, clock=VirtualClock(clock.now() + ahead))).reconcile()
    reconciler = CertificateReconciler(of)
    for _ in range(3):
        await reconciler.reconcile()
    begins = clock.now() + ahead - timedelta(minutes=5)
    [logged] = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert logged == (
        f"the webhook certificate in default/made-webhook-certificate begins at {begins.isoformat()}, but here it is"
        f" {clock.now().isoformat()}: the clock of this pod is behind, or that of the pod that created it was ahead."
        " Synchronize the clocks of all nodes"
    )
