"""The next change of a certificate: from the stored state and the time to the next state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from kubewright.certificates import CertificateAuthority
from kubewright.webhook.certificates import CertificatePolicy, Change, StoredCertificate, decide, next_time
from tests.webhook.certificates.authorities import HOST, is_trusted

START = datetime(2030, 1, 1, tzinfo=UTC)
POLICY = CertificatePolicy(name="made", hosts=(HOST,))
DAY = timedelta(days=1)


def changed(
    stored: StoredCertificate | None, now: datetime, *, settled: bool = False, policy: CertificatePolicy = POLICY
) -> Change:
    change = decide(stored, policy, now, settled=settled)
    assert change is not None
    return change


@pytest.fixture(scope="module")
def first() -> StoredCertificate:
    """What there is after the first step."""
    return changed(None, START).stored


def test_first_certificate_is_valid_immediately(first: StoredCertificate) -> None:
    assert is_trusted(first.leaf, first.bundle, START)
    assert first.signer is not None
    assert (len(first.trusted), first.successor) == (1, None)
    assert decide(first, POLICY, START, settled=False) is None


def test_certificate_is_valid_slightly_before_its_creation(first: StoredCertificate) -> None:
    assert is_trusted(first.leaf, first.bundle, START - timedelta(minutes=4))


def test_a_certificate_is_renewed_at_two_thirds_of_its_life_with_a_new_key(first: StoredCertificate) -> None:
    assert decide(first, POLICY, START + 59 * DAY, settled=False) is None
    change = changed(first, START + 60 * DAY)
    assert change.why == "the certificate is at two thirds of its lifetime"
    assert change.stored.leaf.key != first.leaf.key
    assert change.stored.trusted == first.trusted
    assert change.stored.validity.ends == START + 150 * DAY


def test_jitter_lets_one_replica_renew_first(first: StoredCertificate) -> None:
    late = replace(POLICY, jitter=1.0)
    assert decide(first, late, START + 61 * DAY, settled=False) is None
    assert decide(first, late, START + 63 * DAY, settled=False) is not None


@pytest.mark.promise(
    "The certificate of the webhooks",
    "A new authority is trusted before it signs, and an old one until all that it signed has expired.",
)
def test_a_new_authority_is_trusted_first_and_signs_later(first: StoredCertificate) -> None:
    current = replace(first, leaf=changed(first, START + 200 * DAY).stored.leaf)
    now = START + 244 * DAY
    change = changed(current, now)
    assert change.why == "the CA is at two thirds of its lifetime: trusting a new one"
    added = change.stored
    assert (len(added.trusted), added.leaf, added.signer) == (2, current.leaf, current.signer)
    assert decide(added, POLICY, now, settled=False) is None, "nothing else until the server has it"

    signed = changed(added, now, settled=True).stored
    assert (signed.signer, signed.successor, signed.trusted) == (added.successor, None, added.trusted)
    for leaf in (current.leaf, signed.leaf):
        assert is_trusted(leaf, signed.bundle, now), "another replica may serve the old one for another moment"
    assert not is_trusted(signed.leaf, first.bundle, now)
    assert first.signer is not None
    assert first.signer.key not in signed.data().values(), "the old CA cannot sign again"

    later = START + 366 * DAY
    renewed = replace(signed, leaf=changed(signed, now + 80 * DAY).stored.leaf)
    gone = changed(renewed, later)
    assert gone.why == "an old CA has expired, and is no longer trusted"
    assert gone.stored.trusted == added.trusted[1:]
    assert is_trusted(renewed.leaf, gone.stored.bundle, later)


def test_expired_certificate_is_replaced_immediately(first: StoredCertificate) -> None:
    change = changed(first, START + 100 * DAY)
    assert change.why == "the certificate has expired"
    assert change.stored.signer == first.signer
    everything = changed(first, START + 400 * DAY).stored
    assert is_trusted(everything.leaf, everything.bundle, START + 400 * DAY)
    assert not set(everything.trusted) & set(first.trusted)


@pytest.mark.promise(
    "The certificate of the webhooks",
    "What a clock that was ahead has made is replaced, and makes a replica unready.",
)
@pytest.mark.parametrize("ahead", [100 * DAY, 730 * DAY], ids=["the leaf", "the leaf and who signed it"])
def test_certificate_of_a_clock_ahead_is_replaced_immediately(first: StoredCertificate, ahead: timedelta) -> None:
    early = changed(first, START + ahead).stored
    assert not is_trusted(early.leaf, early.bundle, START)
    change = changed(early, START)
    assert change.why == "the certificate is not valid yet"
    assert is_trusted(change.stored.leaf, change.stored.bundle, START)
    assert (change.stored.signer == first.signer) == (early.signer == first.signer), "who can sign goes on"
    assert len(change.stored.trusted) == 1
    assert decide(change.stored, POLICY, START, settled=False) is None


def test_a_certificate_of_an_authority_that_is_not_valid_yet_is_replaced_with_it(first: StoredCertificate) -> None:
    early = changed(None, START + DAY).stored
    assert early.signer is not None
    signed = replace(early, leaf=CertificateAuthority.load(early.signer).issue("made", hosts=[HOST], now=START))
    renewed = changed(signed, START).stored
    assert is_trusted(renewed.leaf, renewed.bundle, START)
    assert not set(renewed.trusted) & set(early.trusted)


def test_an_authority_that_is_not_valid_yet_never_signs(first: StoredCertificate) -> None:
    early = changed(None, START + DAY).stored
    waiting = replace(first, successor=early.signer, trusted=first.trusted + early.trusted)
    change = changed(waiting, START, settled=True)
    assert change.why == "a CA is not valid yet, and is no longer trusted"
    assert change.stored == first


def test_clock_slightly_behind_replaces_nothing(first: StoredCertificate) -> None:
    assert decide(first, POLICY, START - timedelta(minutes=9), settled=False) is None


def test_one_certificate_serves_both_names_of_a_renamed_service(first: StoredCertificate) -> None:
    other = replace(POLICY, hosts=("other.home.svc",))
    change = changed(first, START, policy=other)
    assert change.why == "the certificate is for another Service"
    for host in (HOST, "other.home.svc"):
        assert is_trusted(change.stored.leaf, change.stored.bundle, START, host)
    for policy in (POLICY, other):
        assert decide(change.stored, policy, START, settled=False) is None, "it is not replaced repeatedly"
    renewed = changed(change.stored, START + 60 * DAY, policy=other).stored
    assert renewed.hosts == {"other.home.svc"}


def test_missing_ca_key_creates_new_ca_without_interruption(first: StoredCertificate) -> None:
    change = changed(replace(first, signer=None), START)
    assert change.why == "there is no CA that can sign: trusting a new one"
    assert change.stored.leaf == first.leaf
    assert len(change.stored.trusted) == 2


def test_no_certificate_outlives_its_ca_or_is_renewed_needlessly(first: StoredCertificate) -> None:
    waiting = changed(replace(first, leaf=changed(first, START + 200 * DAY).stored.leaf), START + 244 * DAY).stored
    now = START + 300 * DAY
    last = changed(waiting, now).stored  # the successor never settles: the old authority goes on
    assert last.validity.ends == START + 365 * DAY
    for days in range(300, 365):
        change = decide(last, POLICY, START + days * DAY, settled=False)
        assert change is None, "it would end at the same time"


def test_next_time_is_the_next_due_change(first: StoredCertificate) -> None:
    assert next_time(first, POLICY, START) == first.validity.at(2 / 3)
    assert next_time(first, POLICY, START + 80 * DAY) == first.validity.ends
    signer_is_due = next_time(first, POLICY, START + 100 * DAY)
    assert START + 243 * DAY < signer_is_due < START + 244 * DAY
