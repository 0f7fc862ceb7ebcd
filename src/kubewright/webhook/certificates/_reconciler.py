"""`CertificateReconciler`: reconciles the Secret of a self-managed certificate, and the objects with its CA bundle.

Every replica does so, without a leader, because every replica serves. Two rules make that safe:

- The Secret is updated only in the version that was read. A replica that loses the race reads the Secret of the winner,
and uses it. So all replicas serve the same certificate.
- A replica that writes a bundle into an object has read first that object, then the Secret, and updates the object only
  in the version that was read. So a replica that is behind cannot remove a new CA: either it sees the Secret of the
  replica that added it, or its write conflicts.

A certificate that is not valid yet was created by a clock that was ahead. It is replaced, at most once a minute by each
replica: a replica whose clock stays ahead considers the replacement expired, and replaces it again. A new certificate
is checked more often, because a wrong clock shows soon.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from kubewright.api import ObjectMeta, core
from kubewright.certificates import KeyPair
from kubewright.client import AlreadyExists, ApiError, Conflict, NotFound
from kubewright.webhook._certificate_source import WebhookDeployment
from kubewright.webhook.certificates._errors import CertificateError
from kubewright.webhook.certificates._plan import CertificatePolicy, Change, decide, is_early, next_time
from kubewright.webhook.certificates._repair_backoff import RepairBackoff
from kubewright.webhook.certificates._stored import StoredCertificate
from kubewright.webhook.certificates._targets import Target, read, targets_of, trust, trusts
from kubewright.webhook.certificates._validation import Unusable

__all__ = ["CertificateReconciler"]

logger = logging.getLogger("kubewright.webhook")

_MAX_ATTEMPTS: Final = 20
_LONGEST_PAUSE: Final = 24 * 3600.0
_NEW_PAUSE: Final = 600.0
_EARLY_PAUSE: Final = 60.0
_NEW_CERTIFICATE_AGE: Final = timedelta(hours=1)


class CertificateReconciler:
    """Reconciles one certificate. `stored` is the state of the last reconcile."""

    def __init__(self, deployment: WebhookDeployment, policy: CertificatePolicy | None = None) -> None:
        self._deployment = deployment
        self._policy = policy or default_policy(deployment)
        self._targets = targets_of(deployment)
        self._labels = {"app.kubernetes.io/managed-by": "kubewright", "app.kubernetes.io/name": deployment.operator}
        self._trusted_since: tuple[bytes, float] | None = None
        self._early_replaced_at: float | None = None
        self._reported: KeyPair | None = None
        self._repairs = RepairBackoff(deployment.clock, deployment.client.field_manager)
        self.stored: StoredCertificate | None = None

    async def reconcile(self) -> float:
        """Makes all due changes. Returns after how many seconds to reconcile again, if no object changes earlier.

        Raises an `ApiError` if the server rejects a request, and `CertificateError` if the Secret belongs to another
        program. Changes that do not depend on the failed one are made nevertheless, and `stored` is up to date.
        """
        for _ in range(_MAX_ATTEMPTS):
            try:
                return await self._attempt()
            except (Conflict, AlreadyExists):
                continue  # another replica was faster: read its state
        raise CertificateError(
            f"the Secret {self._secret_name} changed during each of {_MAX_ATTEMPTS} attempts to update it: find the"
            " other program that writes it"
        )

    async def _attempt(self) -> float:
        targets, problem = await read(self._deployment.client, self._targets)
        self.stored = stored = await self._reconcile_secret(targets if problem is None else None)
        rejected, wait = await self._inject(targets, stored)
        if (problem := rejected or problem) is not None:
            raise problem
        return min(self._pause(stored), wait)

    # The Secret

    async def _reconcile_secret(self, targets: Sequence[Target] | None) -> StoredCertificate:
        """Returns the current state of the Secret, after all due changes."""
        now = self._deployment.clock.now()
        secret = await self._read_secret()
        stored = self._usable(secret)
        self._compare_clocks(stored, now)
        while change := decide(stored, self._policy, now, settled=self._is_settled(stored, targets)):
            if stored is not None and is_early(stored, now) and self._replaced_early_one():
                break
            secret, stored = await self._write(secret, change), change.stored
            logger.info("webhook certificate in %s: %s", self._secret_name, change.why)
        assert stored is not None
        return stored

    def _compare_clocks(self, stored: StoredCertificate | None, now: datetime) -> None:
        """Logs once for each certificate that it begins later than now: the clocks of two pods differ."""
        if stored is None or stored.leaf == self._reported or stored.validity.begins <= now:
            return
        self._reported = stored.leaf
        logger.warning(
            "the webhook certificate in %s begins at %s, but here it is %s: the clock of this pod is behind, or that of"
            " the pod that created it was ahead. Synchronize the clocks of all nodes",
            self._secret_name,
            stored.validity.begins.isoformat(timespec="seconds"),
            now.isoformat(timespec="seconds"),
        )

    def _replaced_early_one(self) -> bool:
        """Returns whether this replica, in the last minute, replaced a certificate that was not valid yet."""
        now = self._deployment.clock.monotonic()
        if self._early_replaced_at is not None and now - self._early_replaced_at < _EARLY_PAUSE:
            return True
        self._early_replaced_at = now
        return False

    async def _read_secret(self) -> core.Secret | None:
        deployment = self._deployment
        try:
            return await deployment.client.get(core.Secret, deployment.secret, deployment.namespace)
        except NotFound:
            return None

    def _usable(self, secret: core.Secret | None) -> StoredCertificate | None:
        """Returns the content of the Secret. If it is unusable, the certificate that this replica serves, without keys.

        So a deleted or corrupted Secret is recreated without an interruption, but with new keys: the API server trusts
        the old CA until the new one has settled.
        """
        mine = self.stored and replace(self.stored, signer=None, successor=None)
        if secret is None:
            if mine is not None:
                logger.warning("the Secret %s is gone; recreating it", self._secret_name)
            return mine
        if not secret.data:
            return mine
        if not self._labels.items() <= (secret.metadata.labels or {}).items():
            raise CertificateError(
                f"the Secret {self._secret_name} exists, but another program created it: delete it, choose another"
                " name with --webhook-secret, or use its certificate with --webhook-certificates=files"
            )
        try:
            return StoredCertificate.read(secret.data)
        except Unusable as error:
            logger.warning("the Secret %s cannot be used: %s; recreating its content", self._secret_name, error)
            return mine

    async def _write(self, secret: core.Secret | None, change: Change) -> core.Secret:
        deployment = self._deployment
        if secret is None:
            meta = ObjectMeta(name=deployment.secret, namespace=deployment.namespace, labels=self._labels)
            created = core.Secret(metadata=meta, type="kubernetes.io/tls", data=change.stored.data())
            return await deployment.client.create(created)
        secret.metadata.labels = {**(secret.metadata.labels or {}), **self._labels}
        secret.data = change.stored.data()
        try:
            return await deployment.client.update(secret)
        except NotFound as error:  # deleted since it was read
            raise Conflict(error.status, error.request) from error

    # The objects with the CA bundle

    def _is_settled(self, stored: StoredCertificate | None, targets: Sequence[Target] | None) -> bool:
        """Returns whether all objects have had the next CA long enough for every API server to trust it."""
        if stored is None or stored.successor is None:
            return False
        if targets is None or not all(trusts(target, self._deployment, stored.bundle) for target in targets):
            self._trusted_since = None
            return False
        return self._seconds_trusted(stored) >= self._policy.settle

    def _seconds_trusted(self, stored: StoredCertificate) -> float:
        """Returns the seconds since this replica first saw this bundle in all objects."""
        now = self._deployment.clock.monotonic()
        if self._trusted_since is None or self._trusted_since[0] != stored.bundle:
            self._trusted_since = stored.bundle, now
        return now - self._trusted_since[1]

    async def _inject(self, targets: Sequence[Target], stored: StoredCertificate) -> tuple[ApiError | None, float]:
        """Writes the bundle into every object. Returns the first error, and the delay until the next repair.

        An error of one object does not keep the others from their bundle. An object that another program keeps changing
        is delayed.
        """
        problem: ApiError | None = None
        wait = math.inf
        for target in targets:
            if trusts(target, self._deployment, stored.bundle):
                continue
            if pause := self._repairs.wait(target, stored.bundle):
                wait = min(wait, pause)
                continue
            trust(target, self._deployment, stored.bundle)
            try:
                await self._deployment.client.update(target)
            except NotFound:
                continue  # deleted since it was read
            except ApiError as error:
                problem = problem or error
            else:
                self._repairs.wrote(target, stored.bundle)
                logger.info("%s %s trusts the webhook certificate", target.kind, target.metadata.name)
        return problem, wait

    def _pause(self, stored: StoredCertificate) -> float:
        now = self._deployment.clock.now()
        pause = min((next_time(stored, self._policy, now) - now).total_seconds(), _LONGEST_PAUSE)
        if now - stored.validity.begins < _NEW_CERTIFICATE_AGE:
            pause = min(pause, _EARLY_PAUSE if is_early(stored, now) else _NEW_PAUSE)
        if stored.successor is not None:
            pause = min(pause, self._policy.settle - self._seconds_trusted(stored))
        return max(pause, 1.0)

    @property
    def _secret_name(self) -> str:
        return f"{self._deployment.namespace}/{self._deployment.secret}"


def default_policy(deployment: WebhookDeployment) -> CertificatePolicy:
    """Returns the default policy, with the jitter of this replica."""
    return CertificatePolicy(name=deployment.operator, hosts=deployment.hosts, jitter=deployment.rng.random())
