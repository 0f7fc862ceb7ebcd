"""What is to become of a self-managed certificate next. Pure: from what there is and the time, to what there should be.

One change at a time, in the order in which no API server ever meets a certificate that it cannot trust:

1. when two thirds of an authority's life are over, another one is made. It is trusted from now on, beside the old one,
   but signs nothing yet;
2. when the server has had the new bundle for a while (`settled`), the new authority signs the certificate that is
   served. The old key is gone with that; certificates of the old authority are still trusted, since other replicas may
   serve one for another moment;
3. when the old authority's life is over, and so that of everything it has signed, it is not trusted any more.

A certificate is renewed in the same way, at two thirds of its life, by the authority that signs at the time. What has
expired already is replaced at once: nobody trusts it, so there is nothing to be careful about. So is what is not valid
yet, because it was made by a clock that was ahead; and such an authority is not trusted any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec
from cryptography import x509
from msgspec.structs import replace

from kubewright.certificates import CertificateAuthority, KeyPair
from kubewright.webhook.certificates._held import Held
from kubewright.webhook.certificates._pairs import Validity

__all__ = ["Change", "Terms", "decide", "is_early", "next_time"]

_RENEWED_AT: Final = 2 / 3
_SPREAD: Final = 1 / 30
_LONGEST_NAME: Final = 64


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What certificates are made like.

    Args:
        name: whose they are.
        hosts: the names that the server is called by.
        authority_life: how long an authority lives.
        life: how long a certificate lives.
        settle: seconds that a new authority is trusted before it signs what is served.
        jitter: from 0 to 1, how much later than others this replica renews.
    """

    name: str
    hosts: Sequence[str]
    authority_life: timedelta = timedelta(days=365)
    life: timedelta = timedelta(days=90)
    settle: float = 300.0
    jitter: float = 0.0

    def due(self, validity: Validity) -> datetime:
        """When something of that life is renewed."""
        return validity.at(_RENEWED_AT + self.jitter * _SPREAD)


class Change(msgspec.Struct, frozen=True):
    """What there should be, and why, in a sentence for the log."""

    held: Held
    why: str


def decide(held: Held | None, terms: Terms, now: datetime, *, settled: bool) -> Change | None:
    """The next change; None when all is as it should be for now."""
    if held is None:
        return _fresh((), terms, now, "there is no certificate yet")
    alive = tuple(one for one in held.trusted if Validity.of(one).covers(now))
    signer = held.signer if _lives(held.signer, now) else None
    successor = held.successor if _lives(held.successor, now) else None
    if held.validity.ends <= now:
        return _at_once(held, alive, signer, terms, now, "the certificate has expired")
    if is_early(held, now):
        return _at_once(held, alive, signer, terms, now, "the certificate is not valid yet")
    if not held.hosts.issuperset(terms.hosts):
        # While a Service gets another name, there are replicas of both opinions. One certificate serves both.
        both = replace(terms, hosts=sorted(held.hosts.union(terms.hosts)))
        return _at_once(held, alive, signer, both, now, "the certificate is for another Service")
    if successor is not None and settled:
        changed = replace(held, signer=successor, successor=None)
        return _signed(changed, successor, terms, now, "the new authority is trusted everywhere by now")
    if successor is None and (signer is None or terms.due(_life_of(signer)) <= now):
        made = _authority(terms, now)
        trusted = (*alive, _certificate(made))
        why = "two thirds of the authority's life are over" if signer is not None else "nobody can sign any more"
        return Change(replace(held, trusted=trusted, signer=signer, successor=made), f"{why}: a new one is trusted")
    if signer is not None and _can_be_renewed(held, signer, terms, now):
        return _signed(held, signer, terms, now, "two thirds of the certificate's life are over")
    if len(alive) < len(held.trusted):
        changed = replace(held, trusted=alive, signer=signer, successor=successor)
        return Change(changed, f"{_why_gone(held, now)}, and is not trusted any more")
    return None


def is_early(held: Held, now: datetime) -> bool:
    """Whether the certificate, or the authority that signs, is not valid yet."""
    return not (held.validity.has_begun(now) and (held.signer is None or _life_of(held.signer).has_begun(now)))


def next_time(held: Held, terms: Terms, now: datetime) -> datetime:
    """When to look again, if nothing happens before."""
    times = [terms.due(held.validity), held.validity.ends, *(one.not_valid_after_utc for one in held.trusted)]
    if held.signer is not None:
        times.append(terms.due(_life_of(held.signer)))
    return min((time for time in times if time > now), default=now)


def _why_gone(held: Held, now: datetime) -> str:
    expired = any(one.not_valid_after_utc <= now for one in held.trusted)
    return "an old authority has expired" if expired else "an authority is not valid yet"


def _can_be_renewed(held: Held, signer: KeyPair, terms: Terms, now: datetime) -> bool:
    """Whether a new certificate is due, and would live longer: none outlives its authority."""
    longest = min(now + terms.life, _life_of(signer).ends)
    return terms.due(held.validity) <= now and longest - held.validity.ends > terms.life / 10


def _at_once(
    held: Held, alive: tuple[x509.Certificate, ...], signer: KeyPair | None, terms: Terms, now: datetime, why: str
) -> Change:
    """Another certificate now: nobody can be served with this one, so there is nothing to be careful about."""
    return _fresh(alive, terms, now, why) if signer is None else _signed(held, signer, terms, now, why)


def _fresh(alive: tuple[x509.Certificate, ...], terms: Terms, now: datetime, why: str) -> Change:
    """Everything anew, at once."""
    made = _authority(terms, now)
    leaf = _leaf(made, terms, now)
    return Change(Held(leaf=leaf, trusted=(*alive, _certificate(made)), signer=made), why)


def _signed(held: Held, by: KeyPair, terms: Terms, now: datetime, why: str) -> Change:
    return Change(replace(held, leaf=_leaf(by, terms, now)), why)


def _leaf(by: KeyPair, terms: Terms, now: datetime) -> KeyPair:
    authority = CertificateAuthority.load(by)
    return authority.issue(f"{terms.name}-webhook"[:_LONGEST_NAME], hosts=terms.hosts, now=now, life=terms.life)


def _authority(terms: Terms, now: datetime) -> KeyPair:
    # The time is in the name, so that people can tell two of them apart.
    name = f"{terms.name[:40]}-webhook-ca-{now:%Y%m%d%H%M%S}"
    return CertificateAuthority(name, now=now, life=terms.authority_life).pair


def _lives(authority: KeyPair | None, now: datetime) -> bool:
    return authority is not None and _life_of(authority).covers(now)


def _life_of(authority: KeyPair) -> Validity:
    return Validity.of(_certificate(authority))


def _certificate(authority: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(authority.certificate)
