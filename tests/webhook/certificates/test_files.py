"""A certificate in files: read again when they change, in whatever way; never replaced by one that does not work."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from kubewright.certificates import CertificateAuthority, KeyPair
from kubewright.clock import VirtualClock
from kubewright.webhook.certificates import (
    CertificateError,
    CertificateFiles,
    CertificatePaths,
    expiry_problem,
    paths_for,
)
from tests.webhook.certificates.authorities import HOST, weak_pair

Put = Callable[[Path, KeyPair], None]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def issue(clock: VirtualClock) -> Callable[..., KeyPair]:
    authority = CertificateAuthority("files", now=clock.now(), life=timedelta(days=400))

    def make(days: float = 90, begins: timedelta = timedelta()) -> KeyPair:
        return authority.issue("made", hosts=[HOST], now=clock.now() + begins, life=timedelta(days=days))

    return make


Issue = Callable[..., KeyPair]


def write_over(folder: Path, pair: KeyPair) -> None:
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)


def rename(folder: Path, pair: KeyPair) -> None:
    for name, content in (("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (folder / "new").write_bytes(content)
        (folder / "new").rename(folder / name)


def as_kubernetes_does(folder: Path, pair: KeyPair) -> None:
    """The files are links into `..data`, which is itself a link that is turned to a new folder."""
    generation = folder / f"..{len(list(folder.glob('..[0-9]*')))}"
    generation.mkdir()
    write_over(generation, pair)
    (folder / "..data_tmp").symlink_to(generation.name)
    (folder / "..data_tmp").rename(folder / "..data")
    for name in ("tls.crt", "tls.key"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")


def files(folder: Path, clock: VirtualClock) -> CertificateFiles:
    return CertificateFiles(paths_for("files", folder), clock=clock)


@pytest.mark.promise(
    "The certificate of the webhooks",
    "Certificate files are read again however they changed, and a half-written pair changes nothing.",
)
@pytest.mark.parametrize("put", [write_over, rename, as_kubernetes_does])
async def test_serves_new_pair_however_it_was_written(
    put: Put, tmp_path: Path, clock: VirtualClock, issue: Issue
) -> None:
    first, second = issue(), issue()
    put(tmp_path, first)
    async with files(tmp_path, clock) as source:
        served = source.pair
        assert served == first
        await clock.advance(10)
        assert source.pair is served, "the same object as long as nothing changed"
        put(tmp_path, second)
        await clock.advance(10)
        assert source.pair == second
        put(tmp_path, first)  # also back again
        await clock.advance(10)
        assert source.pair == first
        assert (source.reads, source.read_errors) == (3, 0)


async def test_a_pair_of_the_same_size_and_time_is_seen(tmp_path: Path, clock: VirtualClock, issue: Issue) -> None:
    write_over(tmp_path, issue())
    async with files(tmp_path, clock) as source:
        new = issue()
        write_over(tmp_path, new)
        for name in ("tls.crt", "tls.key"):
            os.utime(tmp_path / name, ns=(1, 1))
        await clock.advance(10)
        assert source.pair == new


@pytest.mark.promise(
    "The certificate of the webhooks",
    "Certificate files are read again however they changed, and a half-written pair changes nothing.",
)
async def test_half_written_pair_keeps_old_one_and_is_logged_once(
    tmp_path: Path, clock: VirtualClock, issue: Issue, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = issue(), issue()
    write_over(tmp_path, old)
    async with files(tmp_path, clock) as source:
        (tmp_path / "tls.crt").write_bytes(new.certificate)
        await clock.advance(60)
        assert source.pair == old
        (message,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        assert message.endswith(f"{tmp_path}/tls.key is not the key of {tmp_path}/tls.crt; keeping the old one")
        assert source.read_errors == 6
        (tmp_path / "tls.key").write_bytes(new.key)
        await clock.advance(10)
        assert source.pair == new
    assert "PRIVATE" not in caplog.text


# PKCS #8, with an undefined algorithm.
_OF_NO_KIND = b"""-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2V/BCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f
-----END PRIVATE KEY-----
"""


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda folder: (folder / "tls.key").unlink(), "tls.key: No such file or directory"),
        (lambda folder: (folder / "tls.crt").unlink(), "there is no "),
        (lambda folder: (folder / "tls.crt").write_bytes(b""), "tls.crt has no readable certificate"),
        (lambda folder: (folder / "tls.key").write_bytes(b"-----BEGIN"), "tls.key has no readable private key"),
        (lambda folder: (folder / "tls.crt").write_bytes(b"x" * 2_000_000), "is too large for a certificate"),
        (lambda folder: _pipe(folder / "tls.key"), "tls.key is not a regular file"),
        (lambda folder: (folder / "tls.key").write_bytes(_OF_NO_KIND), "tls.key has no readable private key"),
    ],
)
async def test_unreadable_pair_keeps_old_one(
    spoil: Callable[[Path], object],
    reason: str,
    tmp_path: Path,
    clock: VirtualClock,
    issue: Issue,
    caplog: pytest.LogCaptureFixture,
) -> None:
    old = issue()
    write_over(tmp_path, old)
    async with files(tmp_path, clock) as source:
        spoil(tmp_path)
        await clock.advance(10)
        assert source.pair == old
        assert reason in caplog.text
        rename(tmp_path, new := issue())
        await clock.advance(10)
        assert source.pair == new


@pytest.mark.promise(
    "The certificate of the webhooks",
    "A certificate that OpenSSL refuses does not replace one that works.",
)
async def test_pair_that_openssl_rejects_keeps_old_one(
    tmp_path: Path, clock: VirtualClock, issue: Issue, caplog: pytest.LogCaptureFixture
) -> None:
    old = issue()
    write_over(tmp_path, old)
    async with files(tmp_path, clock) as source:
        write_over(tmp_path, weak_pair(clock.now()))
        await clock.advance(20)
        assert source.pair == old
        assert (source.reads, source.read_errors) == (3, 2)
        (message,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        assert f"{tmp_path}/tls.crt cannot be served: OpenSSL rejects it: " in message


async def test_start_fails_with_reason_of_openssl(tmp_path: Path, clock: VirtualClock) -> None:
    write_over(tmp_path, weak_pair(clock.now()))

    async def start() -> None:
        async with files(tmp_path, clock):
            pass

    with pytest.raises(CertificateError, match=r"tls\.crt cannot be served: OpenSSL rejects it: "):
        await clock.run(start())


async def test_reports_encrypted_key(
    tmp_path: Path, clock: VirtualClock, issue: Issue, caplog: pytest.LogCaptureFixture
) -> None:
    pair = issue()
    write_over(tmp_path, pair)
    key = serialization.load_pem_private_key(pair.key, password=None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"open sesame"),
    )
    async with files(tmp_path, clock):
        (tmp_path / "tls.key").write_bytes(locked)
        await clock.advance(10)
    assert "tls.key is encrypted; use a key without a password" in caplog.text


async def test_expired_pair_does_not_replace_valid_one(
    tmp_path: Path, clock: VirtualClock, issue: Issue, caplog: pytest.LogCaptureFixture
) -> None:
    short, long = issue(days=0.01), issue(days=90)
    write_over(tmp_path, long)
    async with files(tmp_path, clock) as source:
        await clock.advance(1_000)
        write_over(tmp_path, short)
        await clock.advance(10)
        assert source.pair == long
        assert "expired at" in caplog.text


async def test_an_expired_certificate_makes_the_replica_unready(
    tmp_path: Path, clock: VirtualClock, issue: Issue
) -> None:
    write_over(tmp_path, issue(days=0.01))
    async with files(tmp_path, clock) as source:
        assert expiry_problem(source, clock.now()) is None
        await clock.advance(864)
        problem = expiry_problem(source, clock.now())
        assert problem == f"the webhook certificate expired at {source.expires.isoformat()}"
        write_over(tmp_path, issue())
        await clock.advance(10)
        assert expiry_problem(source, clock.now()) is None


async def test_pair_that_is_not_valid_yet_does_not_replace_valid_one(
    tmp_path: Path, clock: VirtualClock, issue: Issue, caplog: pytest.LogCaptureFixture
) -> None:
    old, early = issue(), issue(begins=timedelta(hours=1))
    write_over(tmp_path, old)
    async with files(tmp_path, clock) as source:
        write_over(tmp_path, early)
        await clock.advance(10)
        assert source.pair == old
        assert "tls.crt is not valid before 2030-01-01T00:55:00+00:00; keeping the old one" in caplog.text
        await clock.advance(3600)
        assert source.pair == early


@pytest.mark.promise(
    "The certificate of the webhooks",
    "What a clock that was ahead has made is replaced, and makes a replica unready.",
)
async def test_a_certificate_that_is_not_valid_yet_makes_the_replica_unready(
    tmp_path: Path, clock: VirtualClock, issue: Issue
) -> None:
    write_over(tmp_path, issue(begins=timedelta(hours=1)))
    async with files(tmp_path, clock) as source:
        problem = expiry_problem(source, clock.now())
        assert problem == "the webhook certificate is not valid before 2030-01-01T00:55:00+00:00"
        await clock.advance(51 * 60)
        assert expiry_problem(source, clock.now()) is None, "the clock may be a few minutes behind"


async def test_the_start_waits_for_the_files(tmp_path: Path, clock: VirtualClock, issue: Issue) -> None:
    async def open_and_close() -> KeyPair:
        async with files(tmp_path, clock) as source:
            return source.pair

    opening = asyncio.create_task(open_and_close())
    await clock.advance(5)
    assert not opening.done()
    write_over(tmp_path, pair := issue())
    assert await clock.run(opening) == pair


async def test_start_without_files_fails_with_reason(tmp_path: Path, clock: VirtualClock) -> None:
    async def start() -> None:
        async with files(tmp_path, clock):
            pass

    with pytest.raises(CertificateError) as caught:
        await clock.run(start())
    assert str(caught.value) == f"there is no webhook certificate: there is no {tmp_path}/tls.crt"
    assert clock.monotonic() == pytest.approx(30, abs=1)


async def test_bundle_is_ca_crt_of_the_same_folder(tmp_path: Path, clock: VirtualClock, issue: Issue) -> None:
    write_over(tmp_path, issue())
    async with files(tmp_path, clock) as source:
        assert source.ca_bundle is None
        (tmp_path / "ca.crt").write_bytes(b"PEM")
        await clock.advance(10)
        assert source.ca_bundle == b"PEM"


@pytest.mark.parametrize("name", ["tls", "apiserver"])
async def test_finds_both_paths_of_olm(name: str, tmp_path: Path, clock: VirtualClock, issue: Issue) -> None:
    pair = issue()
    pair.write(tmp_path, name)
    async with CertificateFiles(paths_for("olm", tmp_path), clock=clock) as source:
        assert source.pair == pair


def test_paths_are_those_of_the_manifests() -> None:
    assert [str(place) for place in paths_for("olm")] == [
        "/tmp/k8s-webhook-server/serving-certs/tls.crt and tls.key",
        "/apiserver.local.config/certificates/apiserver.crt and apiserver.key",
    ]
    folder = Path("/var/run/kubewright/webhook")
    place = CertificatePaths(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")
    assert paths_for("files") == paths_for("cert-manager") == (place,)
