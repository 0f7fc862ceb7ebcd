"""TLS of the authenticator, against real servers on loopback with certificates of our own."""

# ruff: noqa: ASYNC240 - a test may wait for its own small files

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubewright.client import TLS, ClientConfig, ConfigError, Credentials, ExecPlugin
from kubewright.client.credentials import Authenticator, Identity
from kubewright.clock import VirtualClock

PAST, FUTURE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)


class Authority:
    """A CA. Like many clusters', its certificates have no key identifiers."""

    def __init__(self, name: str = "ca") -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self.name, self.key, FUTURE, ca=True)
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str, *, until: datetime = FUTURE, password: bytes | None = None) -> tuple[bytes, bytes]:
        """Certificate and key for that common name, valid as a server at 127.0.0.1 and kubernetes.default."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._sign(subject, key, until, ca=False)
        encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        return certificate.public_bytes(serialization.Encoding.PEM), private

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, until: datetime, *, ca: bool
    ) -> x509.Certificate:
        names = [x509.DNSName("kubernetes.default"), x509.IPAddress(ip_address("127.0.0.1"))]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(PAST - timedelta(days=1))
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self.key, hashes.SHA256())
        )


@asynccontextmanager
async def server(authority: Authority, folder: Path, *, until: datetime = FUTURE) -> AsyncIterator[int]:
    """A TLS server that asks for a client certificate and answers with its common name, or with "anonymous"."""
    certificate, key = authority.issue("server", until=until)
    pair = folder / "server.pem"
    pair.write_bytes(certificate + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata=authority.pem.decode())

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peercert")
        name = dict(pair[0] for pair in peer["subject"])["commonName"] if peer else "anonymous"
        writer.write(name.encode())
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        await listening.wait_closed()


async def greet(port: int, identity: Identity) -> str:
    """Whom the server takes us for."""
    assert isinstance(identity.ssl, ssl.SSLContext)
    name = identity.server_name or "127.0.0.1"
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=identity.ssl, server_hostname=name)
    try:
        return (await reader.read()).decode()
    finally:
        writer.close()
        await writer.wait_closed()


def replace(path: Path, content: bytes) -> None:
    """As tools do it: the old file or the new one, never half of it."""
    fresh = path.with_suffix(".fresh")
    fresh.write_bytes(content)
    os.replace(fresh, path)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def config(port: int = 6443, **fields: Any) -> ClientConfig:
    return ClientConfig(server=f"https://127.0.0.1:{port}", **fields)


class TestServerCertificate:
    async def test_a_ca_without_key_identifiers_is_good_enough(self, tmp_path: Path, clock: VirtualClock) -> None:
        authority = Authority()
        bundle = "# Zürich\n".encode() + Authority("other").pem + b"\n# and ours\n" + authority.pem
        async with server(authority, tmp_path) as port:
            identity = await Authenticator(config(port, tls=TLS(ca_data=bundle)), clock).identity()
            assert await greet(port, identity) == "anonymous"

    async def test_the_certificate_of_the_server_itself_can_be_trusted(
        self, tmp_path: Path, clock: VirtualClock
    ) -> None:
        async with server(Authority(), tmp_path) as port:
            own = (tmp_path / "server.pem").read_bytes().partition(b"-----BEGIN PRIVATE")[0]
            assert (
                await greet(port, await Authenticator(config(port, tls=TLS(ca_data=own)), clock).identity())
                == "anonymous"
            )

    @pytest.mark.promise("Configuration and credentials", "A rotated CA is picked up.")
    async def test_a_rotated_ca_is_picked_up(self, tmp_path: Path, clock: VirtualClock) -> None:
        """As the kubelet rotates: the file is a symlink through a folder that is a symlink, which is swapped."""
        old, new = Authority("old"), Authority("new")
        for name, authority in {"v1": old, "v2": new}.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "ca.crt").write_bytes(authority.pem)
        (tmp_path / "..data").symlink_to("v1")
        (tmp_path / "ca.crt").symlink_to("..data/ca.crt")
        authenticator = Authenticator(config(tls=TLS(ca_file=str(tmp_path / "ca.crt"))), clock)
        first = await authenticator.identity()
        async with server(new, tmp_path) as port:
            with pytest.raises(ssl.SSLCertVerificationError):
                await greet(port, first)
            (tmp_path / "..fresh").symlink_to("v2")
            os.replace(tmp_path / "..fresh", tmp_path / "..data")
            assert await authenticator.identity() is first, "files are looked at once a second at most"
            await clock.advance(1)
            second = await authenticator.identity()
            assert second.ssl is not first.ssl
            assert await greet(port, second) == "anonymous"

    async def test_the_context_stays_while_the_content_does(self, tmp_path: Path, clock: VirtualClock) -> None:
        file, authority = tmp_path / "ca.crt", Authority()
        file.write_bytes(authority.pem)
        authenticator = Authenticator(config(tls=TLS(ca_file=str(file))), clock)
        first = await authenticator.identity()
        replace(file, authority.pem)
        await clock.advance(1)
        assert await authenticator.identity() is first

    async def test_a_broken_file_does_not_replace_a_good_one(
        self, tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        file, authority = tmp_path / "ca.crt", Authority()
        file.write_bytes(authority.pem)
        authenticator = Authenticator(config(tls=TLS(ca_file=str(file))), clock)
        first = await authenticator.identity()
        replace(file, b"half a certi")
        for _ in range(3):
            await clock.advance(1)
            assert await authenticator.identity() is first
        assert caplog.text.count("contains no certificate") == 1
        replace(file, Authority().pem)
        await clock.advance(1)
        assert await authenticator.identity() is not first

    async def test_insecure_accepts_anything(self, tmp_path: Path, clock: VirtualClock) -> None:
        async with server(Authority(), tmp_path) as port:
            identity = await Authenticator(config(port, tls=TLS(insecure=True)), clock).identity()
            assert await greet(port, identity) == "anonymous"

    @pytest.mark.promise("Configuration and credentials", "`insecure-skip-tls-verify` and `tls-server-name`.")
    async def test_another_server_name(self, tmp_path: Path, clock: VirtualClock) -> None:
        authority = Authority()
        async with server(authority, tmp_path) as port:
            tls = TLS(ca_data=authority.pem, server_name="kubernetes.default")
            assert await greet(port, await Authenticator(config(port, tls=tls), clock).identity()) == "anonymous"

    async def test_the_minimum_is_tls_1_2(self, clock: VirtualClock) -> None:
        context = (await Authenticator(config(), clock).identity()).ssl
        assert isinstance(context, ssl.SSLContext)
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "contains no certificate; expected PEM (-----BEGIN CERTIFICATE-----)"),
            (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "contains a damaged certificate"),
            (b"-----BEGIN CERTIFICATE-----\n\xff\n-----END CERTIFICATE-----", "contains a damaged certificate"),
            (None, "cannot be read from {file}: No such file or directory"),
        ],
    )
    async def test_a_ca_that_cannot_be_used(
        self, tmp_path: Path, clock: VirtualClock, content: bytes | None, message: str
    ) -> None:
        file = tmp_path / "ca.crt"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            await Authenticator(config(tls=TLS(ca_file=str(file))), clock).identity()
        assert str(caught.value).startswith("the certificate authority ")
        assert str(caught.value).endswith(message.format(file=file))
        assert str(file) in str(caught.value)


class TestExplaining:
    async def explanation(self, port: int, clock: VirtualClock, tls: TLS) -> str:
        authenticator = Authenticator(config(port, tls=tls, source="~/.kube/config, context kind"), clock)
        with pytest.raises(ssl.SSLError) as caught:
            await greet(port, await authenticator.identity())
        wrapped = OSError("as a transport would wrap it")
        wrapped.__cause__ = caught.value
        explained = authenticator.explain(wrapped)
        assert explained is not None
        return str(explained)

    @pytest.mark.parametrize("issuer", ["ca", "another"])
    async def test_an_unknown_authority(self, tmp_path: Path, clock: VirtualClock, issuer: str) -> None:
        file = tmp_path / "ca.crt"
        file.write_bytes(Authority().pem)
        async with server(Authority(issuer), tmp_path) as port:
            assert await self.explanation(port, clock, TLS(ca_file=str(file))) == (
                f"the certificate of the server https://127.0.0.1:{port} is not signed by an authority in {file} "
                "(~/.kube/config, context kind); set the certificate-authority of this cluster"
            )

    async def test_another_name(self, tmp_path: Path, clock: VirtualClock) -> None:
        authority = Authority()
        async with server(authority, tmp_path) as port:
            tls = TLS(ca_data=authority.pem, server_name="elsewhere")
            assert await self.explanation(port, clock, tls) == (
                f"the certificate of the server https://127.0.0.1:{port} is not for the tls-server-name elsewhere; "
                "use an address that it names, or set tls-server-name"
            )

    @pytest.mark.promise("Configuration and credentials", "An expired certificate is named.")
    async def test_an_expired_server(self, tmp_path: Path, clock: VirtualClock) -> None:
        authority = Authority()
        async with server(authority, tmp_path, until=PAST) as port:
            assert await self.explanation(port, clock, TLS(ca_data=authority.pem)) == (
                f"the certificate of the server https://127.0.0.1:{port} has expired; "
                "renew it, or check this machine's clock"
            )

    async def test_explains_wrapped_tls_errors(self, tmp_path: Path, clock: VirtualClock) -> None:
        async with server(Authority("another"), tmp_path) as port, aiohttp.ClientSession() as session:
            authenticator = Authenticator(config(port, tls=TLS(ca_data=Authority().pem)), clock)
            identity = await authenticator.identity()
            with pytest.raises(aiohttp.ClientConnectorCertificateError) as caught:
                await session.get(f"https://127.0.0.1:{port}", headers=identity.headers, ssl=identity.ssl)
        explained = str(authenticator.explain(caught.value))
        assert "is not signed by an authority in certificate-authority-data (arguments); set the" in explained

    async def test_does_not_explain_other_errors(self, clock: VirtualClock) -> None:
        assert Authenticator(config(), clock).explain(ConnectionRefusedError()) is None


class TestClientCertificate:
    @pytest.fixture(params=["files", "data", "mixed"])
    def form(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.mark.promise(
        "Configuration and credentials",
        "Client certificates come from files or data, and are picked up again.",
    )
    async def test_files_and_data_in_any_mixture(self, tmp_path: Path, clock: VirtualClock, form: str) -> None:
        authority = Authority()
        certificate, key = authority.issue("jane")
        (tmp_path / "me.crt").write_bytes(certificate)
        (tmp_path / "me.key").write_bytes(key)
        credentials = {
            "files": Credentials(certificate_file=str(tmp_path / "me.crt"), key_file=str(tmp_path / "me.key")),
            "data": Credentials(certificate_data=certificate, key_data=key),
            "mixed": Credentials(certificate_file=str(tmp_path / "me.crt"), key_data=key),
        }[form]
        async with server(authority, tmp_path) as port:
            tls = TLS(ca_data=authority.pem)
            authenticator = Authenticator(config(port, tls=tls, credentials=credentials), clock)
            assert await greet(port, await authenticator.identity()) == "jane"

    @pytest.mark.promise(
        "Configuration and credentials",
        "Client certificates come from files or data, and are picked up again.",
    )
    async def test_a_renewed_pair_is_picked_up_once_it_is_complete(
        self, tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        authority = Authority()
        certificate_file, key_file = tmp_path / "me.crt", tmp_path / "me.key"
        certificate, key = authority.issue("old")
        certificate_file.write_bytes(certificate)
        key_file.write_bytes(key)
        credentials = Credentials(certificate_file=str(certificate_file), key_file=str(key_file))
        async with server(authority, tmp_path) as port:
            authenticator = Authenticator(config(port, tls=TLS(ca_data=authority.pem), credentials=credentials), clock)
            first = await authenticator.identity()
            assert await greet(port, first) == "old"
            certificate, key = authority.issue("new")
            replace(certificate_file, certificate)
            await clock.advance(1)
            assert await authenticator.identity() is first
            assert "do not match; the previous one stays in use" in caplog.text
            replace(key_file, key)
            await clock.advance(1)
            second = await authenticator.identity()
            assert await greet(port, second) == "new"

    async def test_a_rejected_certificate_is_read_again_at_once(self, tmp_path: Path, clock: VirtualClock) -> None:
        authority, pair_file = Authority(), tmp_path / "me.pem"
        pair_file.write_bytes(b"".join(authority.issue("old")))
        credentials = Credentials(certificate_file=str(pair_file), key_file=str(pair_file))
        authenticator = Authenticator(config(credentials=credentials), clock)
        first = await authenticator.identity()
        assert await authenticator.rejected(first) is False
        replace(pair_file, b"".join(authority.issue("new")))
        assert await authenticator.rejected(first) is True

    @pytest.mark.promise("Configuration and credentials", "An expired certificate is named.")
    async def test_an_expired_one_is_named_when_the_server_rejects_it(self, clock: VirtualClock) -> None:
        certificate, key = Authority().issue("jane", until=PAST)
        credentials = Credentials(certificate_data=certificate, key_data=key, user="jane")
        authenticator = Authenticator(config(credentials=credentials), clock)
        expected = (
            "the client certificate of user 'jane' expired at 2020-01-01 00:00:00 UTC; "
            "renew it, or fetch a new kubeconfig"
        )
        with pytest.raises(ConfigError) as caught:
            await authenticator.rejected(await authenticator.identity())
        assert str(caught.value) == expected
        assert str(authenticator.explain(ssl.SSLError("alert certificate expired"))) == expected

    @pytest.mark.parametrize(
        ("spoil", "message"),
        [
            (
                lambda pair, other: (pair[0], other[1]),
                "the client certificate and key of user 'jane' do not match",
            ),
            (lambda pair, _: (pair[0], b"s3cret"), "the client certificate and key of user 'jane' are not valid PEM"),
            (lambda pair, _: (b"", pair[1]), "the client certificate and key of user 'jane' are not valid PEM"),
        ],
    )
    async def test_rejects_unusable_certificates(
        self,
        clock: VirtualClock,
        spoil: Callable[[tuple[bytes, bytes], tuple[bytes, bytes]], tuple[bytes, bytes]],
        message: str,
    ) -> None:
        authority = Authority()
        certificate, key = spoil(authority.issue("jane"), authority.issue("joe"))
        credentials = Credentials(certificate_data=certificate, key_data=key, user="jane")
        with pytest.raises(ConfigError) as caught:
            await Authenticator(config(credentials=credentials), clock).identity()
        assert str(caught.value) == message

    async def test_a_pass_phrase_is_not_asked_for(self, clock: VirtualClock) -> None:
        certificate, key = Authority().issue("jane", password=b"x")
        credentials = Credentials(certificate_data=certificate, key_data=key, user="jane")
        with pytest.raises(ConfigError, match="the client key of user 'jane' is protected by a pass phrase"):
            await Authenticator(config(credentials=credentials), clock).identity()

    async def test_keys_leave_no_file_behind_where_memory_files_do_not_exist(
        self, tmp_path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(os, "memfd_create")
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        certificate, key = Authority().issue("jane")
        credentials = Credentials(certificate_data=certificate, key_data=key)
        await Authenticator(config(credentials=credentials), clock).identity()
        assert list(tmp_path.iterdir()) == []


async def test_a_certificate_of_an_exec_plugin(tmp_path: Path, clock: VirtualClock) -> None:
    authority, answer = Authority(), tmp_path / "answer"
    code = f"import sys; sys.stdout.write(open({str(answer)!r}).read())"
    plugin = ExecPlugin(command=sys.executable, args=("-W", "ignore", "-c", code), interactive_mode="Never")

    def issue(name: str) -> None:
        certificate, key = authority.issue(name)
        status = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
        document = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "status": status}
        answer.write_text(json.dumps(document))

    async with server(authority, tmp_path) as port:
        tls, credentials = TLS(ca_data=authority.pem), Credentials(exec=plugin)
        authenticator = Authenticator(config(port, tls=tls, credentials=credentials), clock)
        issue("first")
        first = await authenticator.identity()
        assert first.headers == ()
        assert await greet(port, first) == "first"
        issue("second")
        assert await authenticator.rejected(first) is True
        assert await greet(port, await authenticator.identity()) == "second"


async def test_a_plugin_that_reads_a_pair_while_it_is_replaced_fails_no_request(
    tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    authority, answer = Authority(), tmp_path / "answer"
    plugin = ExecPlugin(command="/bin/cat", args=(str(answer),), interactive_mode="Never")
    (old, old_key), (new, new_key) = authority.issue("old"), authority.issue("new")

    def answers(certificate: bytes, key: bytes, hour: int) -> None:
        status = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
        status["expirationTimestamp"] = f"2030-01-01T{hour:02}:00:00Z"
        document = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "status": status}
        answer.write_text(json.dumps(document))

    async with server(authority, tmp_path) as port:
        tls, credentials = TLS(ca_data=authority.pem), Credentials(exec=plugin)
        authenticator = Authenticator(config(port, tls=tls, credentials=credentials), clock)
        answers(old, old_key, hour=1)
        first = await authenticator.identity()
        answers(new, old_key, hour=13)
        await clock.advance(3580)
        assert await authenticator.identity() is first
        assert "do not match; the credential of its last run stays in use until it expires" in caplog.text
        answers(new, new_key, hour=13)
        await clock.advance(10)
        assert await greet(port, await authenticator.identity()) == "new"
