"""The server: TLS, limits, bad input, numbers. It is asked over real connections."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import socket
import ssl
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kubewright as kw
from kubewright.api import ObjectMeta
from kubewright.certificates import CertificateAuthority, KeyPair
from kubewright.clock import SystemClock, VirtualClock
from kubewright.observe import Metrics, Sources
from kubewright.webhook import EphemeralCertificate, WebhookServer, serving_context
from kubewright.webhook.reviews import (
    LARGEST_ADMISSION,
    LARGEST_CONVERSION,
    BadReview,
    decode_admission,
    decode_conversion,
    uid_in,
)
from tests.patience import PATIENCE, until
from tests.webhook.certificates.authorities import weak_pair
from tests.webhook.conftest import UID, Asker, asking, review
from tests.webhook.kinds import OldToy, OldToySpec, Toy, ToySpec

CHECK = "/validate/check.toys.webhooks.example.com"
TOY = Toy(metadata=ObjectMeta(name="bear", namespace="room"), spec=ToySpec(size=1))


@pytest.fixture
def operator() -> kw.Operator:
    made = kw.Operator("toys")

    @made.validates(Toy)
    async def check(toy: Toy) -> None: ...

    @made.converts(OldToy, Toy)
    def up(old: OldToy) -> Toy:
        return Toy(spec=ToySpec(size=old.spec.extent))

    @made.converts(Toy, OldToy)
    def down(new: Toy) -> OldToy:
        return OldToy(spec=OldToySpec())

    return made


def body_of(obj: Toy = TOY) -> bytes:
    return msgspec.json.encode(review(obj))


async def is_well(asker: Asker) -> bool:
    """Whether it still answers."""
    return bool((await asker.ask(CHECK, review(TOY)))["allowed"])


# Bad input


@pytest.mark.promise("Webhooks", "Whatever is sent to the webhook server, a review is in its answer, and it lives on.")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "the body is not a valid AdmissionReview: it is not valid JSON"),
        (b"[]", "the body is not a valid AdmissionReview: a required field is missing"),
        (b'{"kind":"AdmissionReview"', "the body is not a valid AdmissionReview: it is not valid JSON"),
        (b'{"kind":1}', "the body is not a valid AdmissionReview: unexpected value at $.kind"),
        (b"{}", "the body is not of the kind AdmissionReview"),
        (
            b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{}}',
            "this webhook supports only admission.k8s.io/v1: list v1 in the review versions of its configuration",
        ),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "the AdmissionReview has no request"),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a"}}',
            "the request of the AdmissionReview is malformed: a required field is missing",
        ),
        (b"\xff\xfe", "the body is not a valid AdmissionReview: it is not valid JSON"),
        (b"[" * 100_000, "the body is not a valid AdmissionReview: a required field is missing"),
    ],
)
async def test_a_malformed_review_is_refused_with_the_reason(
    operator: kw.Operator, body: bytes, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with asking(operator) as asker:
        answer = await asker.post(CHECK, body)
        assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        response = answer["response"]
        assert response["allowed"] is False
        assert response["status"] == {"status": "Failure", "code": 400, "reason": "BadRequest", "message": text}
        assert f"127.0.0.1 at {CHECK}: {text}" in caplog.text
        assert await is_well(asker)


async def test_malformed_review_gets_response_with_its_uid(operator: kw.Operator) -> None:
    async with asking(operator) as asker:
        answer = await asker.post(CHECK, body_of()[:-20])
        assert answer["response"]["uid"] == UID


@pytest.mark.promise("Webhooks", "Whatever is sent to the webhook server, a review is in its answer, and it lives on.")
@pytest.mark.promise(
    "Webhooks",
    "A review that is too large is refused with 413, one that does not arrive in time with 408.",
)
async def test_a_body_that_is_too_large_is_refused_for_its_uid(operator: kw.Operator) -> None:
    large = review(TOY, padding="x" * LARGEST_ADMISSION)
    async with asking(operator) as asker:
        for chunked in (False, True):
            body = msgspec.json.encode(large)
            parts = [body[at : at + 100_000] for at in range(0, len(body), 100_000)]

            async def stream(parts: list[bytes] = parts) -> Any:
                for part in parts:
                    yield part

            connection = aiohttp.TCPConnector(ssl=asker.session.connector._ssl)  # type: ignore[union-attr]
            async with aiohttp.ClientSession(connector=connection) as session:
                url = asker.url + CHECK
                async with session.post(url, data=stream() if chunked else io.BytesIO(body)) as answer:
                    response = (await answer.json())["response"]
            assert response["uid"] == UID
            assert response["allowed"] is False
            assert response["status"] == {
                "status": "Failure",
                "code": 413,
                "reason": "RequestEntityTooLarge",
                "message": "the review is larger than 7 MiB",
            }
        assert await is_well(asker)


@pytest.mark.promise(
    "Webhooks",
    "A review that is too large is refused with 413, one that does not arrive in time with 408.",
)
async def test_a_list_that_is_to_be_converted_may_be_larger_than_two_objects(operator: kw.Operator) -> None:
    asked = {"uid": UID, "desiredAPIVersion": "webhooks.example.com/v1", "objects": []}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": asked}
    async with asking(operator) as asker:
        body = msgspec.json.encode(review | {"padding": "x" * LARGEST_ADMISSION})
        async with asker.session.post(f"{asker.url}/convert", data=io.BytesIO(body)) as given:
            assert (await given.json())["response"]["result"] == {"status": "Success"}
        headers = f"POST /convert HTTP/1.1\r\nHost: a\r\nContent-Length: {LARGEST_CONVERSION + 1}\r\n\r\n"
        answer = await answered(asker, headers.encode() + msgspec.json.encode(review))
        result = {"status": "Failure", "message": "the review is larger than 64 MiB"}
        assert answer["response"] == {"uid": UID, "convertedObjects": [], "result": result}
        assert await is_well(asker)


@pytest.mark.promise(
    "Webhooks",
    "A review that is too large is refused with 413, one that does not arrive in time with 408.",
)
@pytest.mark.parametrize("framing", ["Content-Length: 900", "Transfer-Encoding: chunked"])
async def test_endless_body_gets_response_and_is_dropped(framing: str, operator: kw.Operator) -> None:
    clock = VirtualClock()
    beginning = body_of()[:400] if framing.startswith("C") else b"190\r\n" + body_of()[:400] + b"\r\n"
    async with asking(operator, clock) as asker:
        headers = f"POST {CHECK}?timeout=5s HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"
        answer = asyncio.create_task(answered(asker, headers.encode() + beginning))
        await until(lambda: asker.server.stats.in_flight[CHECK] == 1)
        await clock.advance(4.0)
        async with asyncio.timeout(200):
            response = (await answer)["response"]
        assert (response["uid"], response["allowed"]) == (UID, False)
        assert response["status"] == {
            "status": "Failure",
            "code": 408,
            "reason": "Timeout",
            "message": "the body of the review did not arrive within 4s",
        }
        assert await is_well(asker)


async def answered(asker: Asker, sent: bytes) -> Any:
    """The review in the answer to a request that is not finished, after which the connection is of no use."""
    context = asker.session.connector._ssl  # type: ignore[union-attr]
    reader, writer = await asyncio.open_connection("127.0.0.1", asker.server.port, ssl=context)
    try:
        writer.write(sent)
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"Connection: close" in head
        [length] = re.findall(rb"Content-Length: (\d+)", head)
        return msgspec.json.decode(await reader.readexactly(int(length)))
    finally:
        writer.transport.abort()


async def test_other_paths_and_methods_are_not_served(operator: kw.Operator) -> None:
    async with asking(operator) as asker:
        async with asker.session.post(f"{asker.url}/nowhere", data=body_of()) as answer:
            assert answer.status == 404
        async with asker.session.get(asker.url + CHECK) as answer:
            assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        assert asker.server.paths == ["/convert", CHECK]


@pytest.mark.promise("Webhooks", "Whatever is sent to the webhook server, a review is in its answer, and it lives on.")
async def test_broken_connection_affects_no_other(operator: kw.Operator) -> None:
    async with asking(operator) as asker:
        context = asker.session.connector._ssl  # type: ignore[union-attr]
        for sent in (
            b"",
            b"POST",
            b"\x00" * 50,
            f"POST {CHECK} HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{{".encode(),
            f"POST {CHECK} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".encode(),
        ):
            _, writer = await asyncio.open_connection("127.0.0.1", asker.server.port, ssl=context)
            writer.write(sent)
            await writer.drain()
            writer.transport.abort()
        assert await is_well(asker)


def _spoiled(at: int, what: bytes) -> bytes:
    body = body_of()
    return body[:at] + what + body[at + 1 :]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = ["uid", "kind", "resource", "operation", "name", "object", "oldObject", "userInfo", "dryRun", "options"]
REVIEWS = st.builds(
    lambda version, kind, request: {"apiVersion": version, "kind": kind, "request": request},
    st.sampled_from(["admission.k8s.io/v1", "apiextensions.k8s.io/v1", "v1"]) | JSON,
    st.sampled_from(["AdmissionReview", "ConversionReview"]) | JSON,
    JSON
    | st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=10)
    | st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=3).map(lambda some: review(TOY)["request"] | some),
)
BODIES = (
    st.binary(max_size=200)
    | REVIEWS.map(msgspec.json.encode)
    | st.integers(0, 900).map(lambda at: body_of()[:at])
    | st.builds(
        lambda at, what: body_of()[:at] + what + body_of()[at + 1 :], st.integers(0, 900), st.binary(max_size=3)
    )
)


@given(BODIES)
@settings(max_examples=300, deadline=None)
def test_any_body_is_decoded_or_rejected(body: bytes) -> None:
    for asked in (decode_admission, decode_conversion):
        with contextlib.suppress(BadReview):
            asked(body)
    assert isinstance(uid_in(body), str)


@pytest.mark.promise("Webhooks", "Whatever is sent to the webhook server, a review is in its answer, and it lives on.")
async def test_response_to_any_body_is_a_review(operator: kw.Operator) -> None:
    async with asking(operator) as asker:
        loop = asyncio.get_running_loop()

        @given(BODIES, st.sampled_from([CHECK, "/convert"]))
        @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        def ask(body: bytes, path: str) -> None:
            answer = asyncio.run_coroutine_threadsafe(asker.post(path, body), loop).result(PATIENCE)
            assert answer["kind"] == ("ConversionReview" if path == "/convert" else "AdmissionReview")
            assert isinstance(answer["response"]["uid"], str)
            assert "allowed" in answer["response"] or answer["response"]["result"]["status"] in ("Success", "Failure")

        await asyncio.to_thread(ask)
        assert await is_well(asker)
        assert sum(asker.server.stats.in_flight.values()) == 0


# TLS


class Changing:
    """A source whose certificate is changed by the test."""

    def __init__(self, pair: KeyPair) -> None:
        self.pair = pair
        self.ca_bundle: bytes | None = None
        self.expires = datetime.max

    async def __aenter__(self) -> Changing:
        return self

    async def __aexit__(self, *_: object) -> None: ...


@pytest.mark.promise("Webhooks", "A new certificate is shown to new connections while old ones go on.")
async def test_new_connections_use_new_certificate(operator: kw.Operator) -> None:
    first, second = CertificateAuthority("first"), CertificateAuthority("second")
    source = Changing(first.issue("a", hosts=["127.0.0.1"]))
    body, headers = body_of(), {"Content-Type": "application/json"}

    def trusting(authority: CertificateAuthority) -> aiohttp.ClientSession:
        trust = ssl.create_default_context(cadata=authority.pair.certificate.decode())
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust, limit=1), headers=headers)

    async with (
        WebhookServer(operator.webhooks, source, port=0) as server,
        trusting(first) as old,
        trusting(second) as new,
    ):
        url = f"https://127.0.0.1:{server.port}{CHECK}"
        async with old.post(url, data=body) as answer:
            assert answer.status == 200
            await answer.read()
        source.pair = second.issue("b", hosts=["127.0.0.1"])
        async with new.post(url, data=body) as answer:
            assert answer.status == 200
        async with old.post(url, data=body) as answer:  # on the connection that it has
            assert answer.status == 200
        async with trusting(first) as late:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await late.post(url, data=body)


@pytest.mark.promise(
    "The certificate of the webhooks",
    "A certificate that OpenSSL refuses does not replace one that works.",
)
async def test_certificate_that_openssl_rejects_keeps_old_one(
    operator: kw.Operator, caplog: pytest.LogCaptureFixture
) -> None:
    authority = CertificateAuthority("first")
    source = Changing(authority.issue("a", hosts=["127.0.0.1"]))
    trust = ssl.create_default_context(cadata=authority.pair.certificate.decode())

    async def answered(server: WebhookServer) -> bool:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            return bool((await Asker(server, session).ask(CHECK, review(TOY)))["allowed"])

    async with WebhookServer(operator.webhooks, source, port=0) as server:
        source.pair = weak_pair(SystemClock().now())
        assert await answered(server)
        assert await answered(server)
        source.pair = authority.issue("b", hosts=["127.0.0.1"])
        assert await answered(server)
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "the new certificate cannot be served: OpenSSL rejects it: " in record.getMessage()


@pytest.mark.promise("Webhooks", "Webhooks speak TLS 1.2 and newer, if asked to only with clients that a CA signed.")
async def test_requires_tls_1_2(operator: kw.Operator) -> None:
    async with asking(operator) as asker:
        assert serving_context(asker.server.certificate).minimum_version is ssl.TLSVersion.TLSv1_2
        for version, well in ((ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_1, False)):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
                context.minimum_version = context.maximum_version = version
            if not well:
                with pytest.raises((ssl.SSLError, ConnectionError)):
                    await asyncio.open_connection("127.0.0.1", asker.server.port, ssl=context)
                continue
            _, writer = await asyncio.open_connection("127.0.0.1", asker.server.port, ssl=context)
            writer.close()
            await writer.wait_closed()


@pytest.mark.promise("Webhooks", "Webhooks speak TLS 1.2 and newer, if asked to only with clients that a CA signed.")
async def test_client_ca_requires_client_certificate(operator: kw.Operator, tmp_path: Path) -> None:
    clients, strangers = CertificateAuthority("clients"), CertificateAuthority("strangers")
    ca = tmp_path / "clients.crt"
    ca.write_bytes(clients.pair.certificate)
    certificate = EphemeralCertificate(["127.0.0.1"])

    def session_of(authority: CertificateAuthority | None) -> aiohttp.ClientSession:
        trust = ssl.create_default_context(cadata=certificate.ca_bundle.decode())
        if authority is not None:
            folder = tmp_path / str(id(authority))
            folder.mkdir()
            trust.load_cert_chain(*authority.issue("kube-apiserver").write(folder, "client"))
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust))

    async with WebhookServer(operator.webhooks, certificate, port=0, client_ca=str(ca)) as server:
        url = f"https://127.0.0.1:{server.port}{CHECK}"
        async with session_of(clients) as known, known.post(url, data=body_of()) as answer:
            assert answer.status == 200
        for authority in (strangers, None):
            async with session_of(authority) as stranger:
                with pytest.raises((aiohttp.ClientError, ConnectionError)):
                    await stranger.post(url, data=body_of())


async def test_no_session_outlives_its_client_ca(operator: kw.Operator, tmp_path: Path) -> None:
    trusted = CertificateAuthority("trusted")
    ca = tmp_path / "clients.crt"
    ca.write_bytes(trusted.pair.certificate)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(*trusted.issue("kube-apiserver").write(tmp_path, "client"))

    def ask(port: int, session: ssl.SSLSession | None) -> ssl.SSLSession | None:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain,
            context.wrap_socket(plain, session=session) as secured,
        ):
            secured.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            if not secured.recv(1):
                raise ConnectionResetError("the server hung up")
            return secured.session

    certificate = EphemeralCertificate(["127.0.0.1"])
    async with WebhookServer(operator.webhooks, certificate, port=0, client_ca=str(ca)) as server:
        session = await asyncio.to_thread(ask, server.port, None)
        ca.write_bytes(CertificateAuthority("another").pair.certificate)
        with pytest.raises(OSError):  # an ssl.SSLError, or a connection that is reset
            await asyncio.to_thread(ask, server.port, session)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(OSError):  # whose sessions could not be refused
            await asyncio.to_thread(ask, server.port, None)


@pytest.mark.promise("Webhooks", "A new file of client CAs counts for new connections.")
async def test_changed_client_ca_applies_to_new_connections(
    operator: kw.Operator, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = CertificateAuthority("first"), CertificateAuthority("second")
    ca = tmp_path / "clients.crt"
    ca.write_bytes(first.pair.certificate)
    source = Changing(CertificateAuthority("server").issue("a", hosts=["127.0.0.1"]))

    def session_of(authority: CertificateAuthority) -> aiohttp.ClientSession:
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        folder = tmp_path / str(id(authority))
        folder.mkdir(exist_ok=True)
        trust.load_cert_chain(*authority.issue("kube-apiserver").write(folder, "client"))
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust))

    async with WebhookServer(operator.webhooks, source, port=0, client_ca=str(ca)) as server:
        url = f"https://127.0.0.1:{server.port}{CHECK}"

        async def comes_in(session: aiohttp.ClientSession) -> bool:
            try:
                async with session.post(url, data=body_of()) as answer:
                    await answer.read()
                    return answer.status == 200
            except (aiohttp.ClientError, ConnectionError):
                return False

        async def is_let_in(authority: CertificateAuthority) -> bool:
            async with session_of(authority) as session:
                return await comes_in(session)

        async with session_of(first) as standing:
            assert await comes_in(standing)
            assert not await is_let_in(second)
            ca.write_bytes("# zwölf Monate\n".encode() + first.pair.certificate + second.pair.certificate)
            assert await is_let_in(first)
            assert await is_let_in(second)
            ca.write_bytes(second.pair.certificate)
            assert await is_let_in(second)
            assert not await is_let_in(first)
            assert await comes_in(standing), "on the connection that it has"
        with caplog.at_level("ERROR"):
            for spoil in (lambda: ca.write_bytes(b""), ca.unlink):
                spoil()
                assert await is_let_in(second), "keeping the old ones"
                assert not await is_let_in(first)
        source.pair = CertificateAuthority("server").issue("b", hosts=["127.0.0.1"])
        assert await is_let_in(second)
        assert not await is_let_in(first), "nor with another certificate of the server"
    assert [message for message in caplog.messages if "cannot be used" in message] == [
        f"the client CAs cannot be used: {ca} has no readable certificate; keeping the old ones",
        f"the client CAs cannot be used: {ca}: No such file or directory; keeping the old ones",
    ]


async def test_error_names_address_that_cannot_be_used(operator: kw.Operator) -> None:
    certificate = EphemeralCertificate(["127.0.0.1"])
    async with WebhookServer(operator.webhooks, certificate, port=0) as taken:
        with pytest.raises(OSError, match=f"cannot serve webhooks at 127.0.0.1:{taken.port}: "):
            async with WebhookServer(operator.webhooks, certificate, port=taken.port):
                pass


# Numbers


@pytest.mark.promise("Webhooks", "Metrics of webhooks have controller-runtime's names.")
async def test_metrics_have_the_names_of_controller_runtime(operator: kw.Operator) -> None:
    async with asking(operator) as asker:
        assert await is_well(asker)
        await asker.post(CHECK, b"{}")
        metrics = Metrics(Sources(webhooks=lambda: [asker.server.stats]))
        text = metrics.render()[1].decode()
    for line in (
        f'controller_runtime_webhook_requests_total{{code="200",webhook="{CHECK}"}} 2.0',
        f'controller_runtime_webhook_requests_in_flight{{webhook="{CHECK}"}} 0.0',
        f'controller_runtime_webhook_latency_seconds_count{{webhook="{CHECK}"}} 2.0',
        f'kubewright_webhook_reviews_total{{result="allowed",webhook="{CHECK}"}} 1.0',
        f'kubewright_webhook_reviews_total{{result="failed",webhook="{CHECK}"}} 1.0',
    ):
        assert line in text
    assert f'controller_runtime_webhook_latency_seconds_bucket{{le="1000",webhook="{CHECK}"}} 2.0' in text
