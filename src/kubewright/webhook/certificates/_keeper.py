"""`Keeper`: brings the Secret of a self-managed certificate, and those who trust it, one step further.

Every replica does so, without a leader, since every replica serves. Two rules make that safe:

- The Secret is written only in the state in which it was read. Whoever loses such a race reads what the winner wrote,
  and uses that. So all replicas serve the same certificate.
- Whoever writes a bundle into an object has read first that object, then the Secret, and writes it only in the state
  in which it was read. So a replica that is behind cannot take a new authority out again: either it sees the Secret of
  whoever put it in, or its write is refused.

A certificate that is not valid yet was made by a clock that was ahead. It is replaced, once a minute at most by each
replica: one whose clock is ahead for good finds that expired, and replaces it again. Whether a clock was right shows
soon, so a new certificate is looked at more often.
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
from kubewright.webhook._certificates_protocol import Served
from kubewright.webhook.certificates._errors import CertificateError
from kubewright.webhook.certificates._held import Held
from kubewright.webhook.certificates._pairs import Unusable
from kubewright.webhook.certificates._plan import Change, Terms, decide, is_early, next_time
from kubewright.webhook.certificates._repairs import Repairs
from kubewright.webhook.certificates._targets import Target, kinds_of, read, trust, trusts

__all__ = ["Keeper"]

logger = logging.getLogger("kubewright.webhook")

_TRIES: Final = 20
_LONGEST: Final = 24 * 3600.0
_SOON: Final = 600.0
_QUARREL: Final = 60.0
_YOUNG: Final = timedelta(hours=1)


class Keeper:
    """Looks after one certificate. `held` is what there was at the last step."""

    def __init__(self, served: Served, terms: Terms | None = None) -> None:
        self._served = served
        self._terms = terms or terms_of(served)
        self._named = kinds_of(served)
        self._labels = {"app.kubernetes.io/managed-by": "kubewright", "app.kubernetes.io/name": served.operator}
        self._trusted_since: tuple[bytes, float] | None = None
        self._early_at: float | None = None
        self._doubted: KeyPair | None = None
        self._repairs = Repairs(served.clock, served.client.field_manager)
        self.held: Held | None = None

    async def step(self) -> float:
        """Do what is to be done now, and say after how many seconds to look again, if nothing happens before.

        Raises an `ApiError` when the server refuses something, and `CertificateError` when the Secret is another's.
        What could be done without that was done all the same: `held` is what the Secret holds.
        """
        for _ in range(_TRIES):
            try:
                return await self._try()
            except (Conflict, AlreadyExists):
                continue  # somebody else was faster: see what is there now
        raise CertificateError(f"{self._where} changes faster than it can be read; who else writes it?")

    async def _try(self) -> float:
        targets, problem = await read(self._served.client, self._named)
        self.held = held = await self._keep(targets if problem is None else None)
        refused, wait = await self._inject(targets, held)
        if (problem := refused or problem) is not None:
            raise problem
        return min(self._pause(held), wait)

    # The Secret

    async def _keep(self, targets: Sequence[Target] | None) -> Held:
        """The Secret as it should be, written if it was not."""
        now = self._served.clock.now()
        secret = await self._read_secret()
        held = self._usable(secret)
        self._compare_clocks(held, now)
        while change := decide(held, self._terms, now, settled=self._is_settled(held, targets)):
            if held is not None and is_early(held, now) and self._quarrels():
                break
            secret, held = await self._write(secret, change), change.held
            logger.info("webhook certificate in %s: %s", self._where, change.why)
        assert held is not None
        return held

    def _compare_clocks(self, held: Held | None, now: datetime) -> None:
        """Tell of a certificate that begins later than now, once: whoever made it had another time."""
        if held is None or held.leaf == self._doubted or held.validity.begins <= now:
            return
        self._doubted = held.leaf
        logger.warning(
            "the webhook certificate in %s begins at %s, but here it is %s: the clock of this pod is behind, or that of"
            " the pod that made it was ahead. Let all nodes keep the same time",
            self._where,
            held.validity.begins.isoformat(timespec="seconds"),
            now.isoformat(timespec="seconds"),
        )

    def _quarrels(self) -> bool:
        """Whether this replica has replaced one that was not valid yet a moment ago already."""
        now = self._served.clock.monotonic()
        if self._early_at is not None and now - self._early_at < _QUARREL:
            return True
        self._early_at = now
        return False

    async def _read_secret(self) -> core.Secret | None:
        served = self._served
        try:
            return await served.client.get(core.Secret, served.secret, served.namespace)
        except NotFound:
            return None

    def _usable(self, secret: core.Secret | None) -> Held | None:
        """What the Secret holds. Where that is of no use, what this replica still serves, but signed by nobody.

        So a Secret that somebody deletes or spoils is made anew without a gap, and with new keys all the same: for the
        server goes on to trust the old authority until the new one has settled.
        """
        mine = self.held and replace(self.held, signer=None, successor=None)
        if secret is None:
            if mine is not None:
                logger.warning("the Secret %s is gone: it is made anew", self._where)
            return mine
        if not secret.data:
            return mine
        if not self._labels.items() <= (secret.metadata.labels or {}).items():
            raise CertificateError(
                f"the Secret {self._where} is there, but was not made by this operator: delete it, or choose another"
                " name by --webhook-secret, or let the certificate come from it by --webhook-certificates=files"
            )
        try:
            return Held.read(secret.data)
        except Unusable as error:
            logger.warning("the Secret %s cannot be used: %s; it is made anew", self._where, error)
            return mine

    async def _write(self, secret: core.Secret | None, change: Change) -> core.Secret:
        served = self._served
        if secret is None:
            meta = ObjectMeta(name=served.secret, namespace=served.namespace, labels=self._labels)
            made = core.Secret(metadata=meta, type="kubernetes.io/tls", data=change.held.data())
            return await served.client.create(made)
        secret.metadata.labels = {**(secret.metadata.labels or {}), **self._labels}
        secret.data = change.held.data()
        try:
            return await served.client.update(secret)
        except NotFound as error:  # deleted meanwhile
            raise Conflict(error.status, error.request) from error

    # Those who trust

    def _is_settled(self, held: Held | None, targets: Sequence[Target] | None) -> bool:
        """Whether the server has had the successor long enough, in all objects, for everybody to have heard of it."""
        if held is None or held.successor is None:
            return False
        if targets is None or not all(trusts(target, self._served, held.bundle) for target in targets):
            self._trusted_since = None
            return False
        return self._waited(held) >= self._terms.settle

    def _waited(self, held: Held) -> float:
        """Seconds since this replica first saw that all objects carry this bundle."""
        now = self._served.clock.monotonic()
        if self._trusted_since is None or self._trusted_since[0] != held.bundle:
            self._trusted_since = held.bundle, now
        return now - self._trusted_since[1]

    async def _inject(self, targets: Sequence[Target], held: Held) -> tuple[ApiError | None, float]:
        """Let every object trust what is held. One that refuses does not keep the others from it: its error is told.

        One that somebody else keeps changing is left for a while, too: the second is how long.
        """
        problem: ApiError | None = None
        wait = math.inf
        for target in targets:
            if trusts(target, self._served, held.bundle):
                continue
            if pause := self._repairs.wait(target, held.bundle):
                wait = min(wait, pause)
                continue
            trust(target, self._served, held.bundle)
            try:
                await self._served.client.update(target)
            except NotFound:
                continue  # deleted meanwhile
            except ApiError as error:
                problem = problem or error
            else:
                self._repairs.wrote(target, held.bundle)
                logger.info("%s %s trusts the webhook certificate", target.kind, target.metadata.name)
        return problem, wait

    def _pause(self, held: Held) -> float:
        now = self._served.clock.now()
        pause = min((next_time(held, self._terms, now) - now).total_seconds(), _LONGEST)
        if now - held.validity.begins < _YOUNG:
            pause = min(pause, _QUARREL if is_early(held, now) else _SOON)
        if held.successor is not None:
            pause = min(pause, self._terms.settle - self._waited(held))
        return max(pause, 1.0)

    @property
    def _where(self) -> str:
        return f"{self._served.namespace}/{self._served.secret}"


def terms_of(served: Served) -> Terms:
    """The usual terms, with this replica's own jitter."""
    return Terms(name=served.operator, hosts=served.hosts, jitter=served.rng.random())
