"""The content of a Secret is untrusted: it matches, or it is rejected with the reason."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.certificates import CertificateAuthority
from kubewright.webhook.certificates import CertificatePolicy, StoredCertificate, Unusable, decide
from tests.webhook.certificates.authorities import HOST, weak_pair

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def made() -> StoredCertificate:
    change = decide(None, CertificatePolicy(name="made", hosts=(HOST,)), NOW, settled=False)
    assert change is not None
    return change.stored


HELD = made()
OTHER = made()


def test_stored_certificate_round_trips() -> None:
    assert StoredCertificate.read(HELD.data()) == HELD
    assert HELD.hosts == {HOST}


def test_identifies_cas_by_their_keys() -> None:
    both = HELD.data() | {"ca.crt": OTHER.bundle + HELD.bundle, "next-ca.key": OTHER.data()["ca.key"]}
    read = StoredCertificate.read(both)
    assert (read.signer, read.successor) == (HELD.signer, OTHER.signer)
    assert read.data() == both


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tls.crt": b""}, "tls.crt is missing"),
        ({"tls.crt": b"", "ca.crt": b""}, "tls.crt and ca.crt are missing"),
        ({"tls.crt": b"nonsense"}, "tls.crt has no readable certificate"),
        ({"tls.key": b"nonsense"}, "tls.key has no readable private key"),
        ({"tls.key": OTHER.leaf.key}, "tls.key is not the key of tls.crt"),
        ({"ca.crt": OTHER.bundle}, "tls.crt is not signed by a CA in ca.crt"),
        ({"ca.crt": HELD.bundle + HELD.leaf.certificate}, "ca.crt has a certificate that is not a CA"),
    ],
)
def test_rejects_mismatched_data(changes: dict[str, bytes], reason: str) -> None:
    with pytest.raises(Unusable) as caught:
        StoredCertificate.read(HELD.data() | changes)
    assert str(caught.value) == reason


def test_rejects_pair_that_openssl_rejects() -> None:
    weak = weak_pair(NOW)
    with pytest.raises(Unusable, match=r"tls\.crt cannot be served: OpenSSL rejects it: "):
        StoredCertificate.read(HELD.data() | {"tls.crt": weak.certificate, "tls.key": weak.key})


@pytest.mark.parametrize("key", [b"", b"nonsense", OTHER.data()["ca.key"]], ids=["empty", "invalid", "of another CA"])
def test_ignores_key_without_ca(key: bytes) -> None:
    assert StoredCertificate.read(HELD.data() | {"ca.key": key}).signer is None


@given(st.dictionaries(st.sampled_from(["tls.crt", "tls.key", "ca.crt", "ca.key", "next-ca.key"]), st.binary()))
def test_random_data_is_only_rejected(changes: dict[str, bytes]) -> None:
    try:
        read = StoredCertificate.read(HELD.data() | changes)
    except Unusable:
        return
    assert read.leaf == HELD.leaf


@pytest.mark.promise("The certificate of the webhooks", "No private key of a certificate is shown.")
def test_nothing_shows_a_private_key() -> None:
    shown = f"{HELD!r} {HELD.signer!r} {HELD.leaf!r} {CertificateAuthority('a').pair!r}"
    assert "PRIVATE KEY" not in shown
