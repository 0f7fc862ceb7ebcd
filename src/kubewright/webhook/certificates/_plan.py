"""Decides the next change of a self-managed certificate. Pure: from the stored state and the time to the next state.

One change at a time, in an order in which no API server ever sees a certificate that it does not trust:

1. At two thirds of a CA's lifetime, a new CA is created. It is trusted from now on, beside the old one, but signs
   nothing yet.
2. When the API server has had the new bundle for a while (`settled`), the new CA signs the served certificate. The key
   of the old CA is dropped. Its certificates are still trusted, because other replicas may serve one a moment longer.
3. When the old CA expires, and with it every certificate that it signed, it is no longer trusted.

A certificate is renewed at two thirds of its lifetime, by the current CA. An expired one is replaced immediately: it is
not trusted anyway. So is one that is not valid yet, because a clock that was ahead created it; such a CA is no longer
trusted either.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec
from cryptography import x509
from msgspec.structs import replace

from kubewright.certificates import CertificateAuthority, KeyPair
from kubewright.webhook.certificates._stored import StoredCertificate
from kubewright.webhook.certificates._validation import Validity

__all__ = ["CertificatePolicy", "Change", "decide", "is_early", "next_time"]

_RENEWAL_POINT: Final = 2 / 3
_RENEWAL_SPREAD: Final = 1 / 30
_LONGEST_NAME: Final = 64


class CertificatePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of new certificates.

    Args:
        name: the name of the operator.
        hosts: the host names of the server.
        authority_life: the lifetime of a CA.
        life: the lifetime of a certificate.
        settle: how many seconds a new CA is trusted before it signs the served certificate.
        jitter: from 0 to 1, how much later than others this replica renews.
    """

    name: str
    hosts: Sequence[str]
    authority_life: timedelta = timedelta(days=365)
    life: timedelta = timedelta(days=90)
    settle: float = 300.0
    jitter: float = 0.0

    def due(self, validity: Validity) -> datetime:
        """Returns when a certificate with this validity is renewed."""
        return validity.at(_RENEWAL_POINT + self.jitter * _RENEWAL_SPREAD)


class Change(msgspec.Struct, frozen=True):
    """The next state, and the reason for the log."""

    stored: StoredCertificate
    why: str


def decide(
    stored: StoredCertificate | None, policy: CertificatePolicy, now: datetime, *, settled: bool
) -> Change | None:
    """Returns the next change, or None if nothing is to be done now."""
    if stored is None:
        return _fresh((), policy, now, "there is no certificate yet")
    alive = tuple(one for one in stored.trusted if Validity.of(one).covers(now))
    signer = stored.signer if _lives(stored.signer, now) else None
    successor = stored.successor if _lives(stored.successor, now) else None
    if stored.validity.ends <= now:
        return _replaced(stored, alive, signer, policy, now, "the certificate has expired")
    if is_early(stored, now):
        return _replaced(stored, alive, signer, policy, now, "the certificate is not valid yet")
    if not stored.hosts.issuperset(policy.hosts):
        # While the Service is renamed, replicas disagree about its name. One certificate serves both.
        both = replace(policy, hosts=sorted(stored.hosts.union(policy.hosts)))
        return _replaced(stored, alive, signer, both, now, "the certificate is for another Service")
    if successor is not None and settled:
        changed = replace(stored, signer=successor, successor=None)
        return _signed(changed, successor, policy, now, "the new CA is now trusted everywhere")
    if successor is None and (signer is None or policy.due(_life_of(signer)) <= now):
        made = _authority(policy, now)
        trusted = (*alive, _certificate(made))
        why = "the CA is at two thirds of its lifetime" if signer is not None else "there is no CA that can sign"
        return Change(replace(stored, trusted=trusted, signer=signer, successor=made), f"{why}: trusting a new one")
    if signer is not None and _can_be_renewed(stored, signer, policy, now):
        return _signed(stored, signer, policy, now, "the certificate is at two thirds of its lifetime")
    if len(alive) < len(stored.trusted):
        changed = replace(stored, trusted=alive, signer=signer, successor=successor)
        return Change(changed, f"{_why_gone(stored, now)}, and is no longer trusted")
    return None


def is_early(stored: StoredCertificate, now: datetime) -> bool:
    """Returns whether the certificate or the CA that signs is not valid yet."""
    return not (stored.validity.has_begun(now) and (stored.signer is None or _life_of(stored.signer).has_begun(now)))


def next_time(stored: StoredCertificate, policy: CertificatePolicy, now: datetime) -> datetime:
    """Returns when the next change may be due."""
    times = [policy.due(stored.validity), stored.validity.ends, *(one.not_valid_after_utc for one in stored.trusted)]
    if stored.signer is not None:
        times.append(policy.due(_life_of(stored.signer)))
    return min((time for time in times if time > now), default=now)


def _why_gone(stored: StoredCertificate, now: datetime) -> str:
    expired = any(one.not_valid_after_utc <= now for one in stored.trusted)
    return "an old CA has expired" if expired else "a CA is not valid yet"


def _can_be_renewed(stored: StoredCertificate, signer: KeyPair, policy: CertificatePolicy, now: datetime) -> bool:
    """Returns whether a renewal is due and gains time: no certificate outlives its CA."""
    longest = min(now + policy.life, _life_of(signer).ends)
    return policy.due(stored.validity) <= now and longest - stored.validity.ends > policy.life / 10


def _replaced(
    stored: StoredCertificate,
    alive: tuple[x509.Certificate, ...],
    signer: KeyPair | None,
    policy: CertificatePolicy,
    now: datetime,
    why: str,
) -> Change:
    """Returns a new certificate immediately: clients do not accept the current one anyway."""
    return _fresh(alive, policy, now, why) if signer is None else _signed(stored, signer, policy, now, why)


def _fresh(alive: tuple[x509.Certificate, ...], policy: CertificatePolicy, now: datetime, why: str) -> Change:
    """Returns a new CA and a certificate that it signs."""
    made = _authority(policy, now)
    leaf = _leaf(made, policy, now)
    return Change(StoredCertificate(leaf=leaf, trusted=(*alive, _certificate(made)), signer=made), why)


def _signed(stored: StoredCertificate, by: KeyPair, policy: CertificatePolicy, now: datetime, why: str) -> Change:
    return Change(replace(stored, leaf=_leaf(by, policy, now)), why)


def _leaf(by: KeyPair, policy: CertificatePolicy, now: datetime) -> KeyPair:
    authority = CertificateAuthority.load(by)
    return authority.issue(f"{policy.name}-webhook"[:_LONGEST_NAME], hosts=policy.hosts, now=now, life=policy.life)


def _authority(policy: CertificatePolicy, now: datetime) -> KeyPair:
    # The name contains the time, so that users can distinguish CAs.
    name = f"{policy.name[:40]}-webhook-ca-{now:%Y%m%d%H%M%S}"
    return CertificateAuthority(name, now=now, life=policy.authority_life).pair


def _lives(authority: KeyPair | None, now: datetime) -> bool:
    return authority is not None and _life_of(authority).covers(now)


def _life_of(authority: KeyPair) -> Validity:
    return Validity.of(_certificate(authority))


def _certificate(authority: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(authority.certificate)
