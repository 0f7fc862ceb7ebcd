"""CertificateSigningRequests are approved and signed alike on both clusters."""

from __future__ import annotations

import asyncio
import ipaddress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane, RealCluster
from tests.cluster.certificates.requester import REQUESTS, Requester, asked, certificate_of, credentials_of

pytestmark = pytest.mark.clusters

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
NODE = ("system:node:n", ["system:nodes"])
HOST = x509.DNSName("n")


async def kubectl(program: Path, kubeconfig: Path, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        program,
        "--kubeconfig",
        kubeconfig,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output
    return output.decode()


@pytest.mark.promise(
    "The embedded cluster",
    "A certificate that it signs for an approved request authenticates its user.",
)
async def test_a_certificate_approved_by_kubectl_authenticates_its_user(
    requester: Requester, cluster: Cluster | RealCluster, control_plane: ControlPlane
) -> None:
    request = asked("jane", ["staff", "developers"])
    name = await requester.create(request, signerName=CLIENT, usages=["client auth"], expirationSeconds=3600)

    printed = await kubectl(control_plane.binaries / "kubectl", cluster.kubeconfig(), "certificate", "approve", name)

    assert printed == f"certificatesigningrequest.certificates.k8s.io/{name} approved\n"
    found = await requester.until(name, lambda status: "certificate" in status)
    condition = found["status"]["conditions"][0]
    assert condition["reason"] == "KubectlApprove"
    credentials = credentials_of(request, certificate_of(found))
    status, review = await requester.send("POST", REVIEWS, {}, credentials=credentials)
    assert status == 201
    info = review["status"]["userInfo"]
    assert info["username"] == "jane"
    assert sorted(info["groups"]) == ["developers", "staff", "system:authenticated"]
    assert info["extra"]["authentication.kubernetes.io/credential-id"][0].startswith("X509SHA256=")
    status, refused = await requester.send("GET", "/api/v1/namespaces/default/secrets", credentials=credentials)
    assert (status, refused["reason"]) == (403, "Forbidden")


async def test_a_request_denied_by_kubectl_is_not_signed(
    requester: Requester, cluster: Cluster | RealCluster, control_plane: ControlPlane
) -> None:
    name = await requester.create(asked("jane"), signerName=CLIENT, usages=["client auth"])

    await kubectl(control_plane.binaries / "kubectl", cluster.kubeconfig(), "certificate", "deny", name)

    await requester.certificate(asked("other"), signerName=CLIENT, usages=["client auth"])  # was approved later
    _, found = await requester.send("GET", f"{REQUESTS}/{name}")
    assert [each["type"] for each in found["status"]["conditions"]] == ["Denied"]
    assert "certificate" not in found["status"]


@pytest.mark.parametrize("key", ["EC", "RSA", "Ed25519"])
async def test_the_certificate_has_the_key_subject_and_names_of_the_request(requester: Requester, key: str) -> None:
    keys: dict[str, Any] = {
        "EC": lambda: ec.generate_private_key(ec.SECP384R1()),
        "RSA": lambda: rsa.generate_private_key(65537, 2048),
        "Ed25519": ed25519.Ed25519PrivateKey.generate,
    }
    names = [
        x509.UniformResourceIdentifier("spiffe://a/b"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
        x509.RFC822Name("jane@example.com"),
        x509.DNSName("b.example.com"),
        x509.DNSName("a.example.com"),
    ]
    more = [x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"), x509.NameAttribute(NameOID.TITLE, "dropped")]
    request = asked("jane", ["b", "a"], names, key=keys[key](), attributes=more)

    certificate = await requester.certificate(
        request, signerName=CLIENT, usages=["key encipherment", "client auth", "digital signature"]
    )

    assert certificate.public_key() == request.key.public_key()
    assert certificate.subject.rfc4514_string() == "CN=jane,O=a+O=b,C=DE"
    alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert list(alternative.value) == [names[3], names[4], names[2], names[1], names[0]]  # sorted by kind


async def test_the_certificate_has_exactly_the_requested_usages(requester: Requester) -> None:
    extensions = [
        x509.BasicConstraints(ca=True, path_length=None),
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]),
    ]
    request = asked("jane", extensions=extensions)

    certificate = await requester.certificate(request, signerName=CLIENT, usages=["client auth", "digital signature"])

    found = {each.oid: (each.critical, each.value) for each in certificate.extensions}
    authority = found.pop(x509.AuthorityKeyIdentifier.oid)
    assert not authority[0]
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    assert found == {
        x509.KeyUsage.oid: (True, usage),
        x509.ExtendedKeyUsage.oid: (False, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])),
        x509.BasicConstraints.oid: (True, x509.BasicConstraints(ca=False, path_length=None)),
    }


@pytest.mark.parametrize(
    ("seconds", "life"),
    [
        (600, timedelta(minutes=15)),
        (7 * 3600, timedelta(hours=7, minutes=5)),
        (8 * 3600, timedelta(hours=8)),
        (86400, timedelta(days=1)),
    ],
)
async def test_the_certificate_lasts_as_long_as_requested(requester: Requester, seconds: int, life: timedelta) -> None:
    certificate = await requester.certificate(
        asked("jane"), signerName=CLIENT, usages=["client auth"], expirationSeconds=seconds
    )

    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == life  # backdated by five minutes


@pytest.mark.parametrize(
    ("signer", "request_", "usages", "message"),
    [
        (CLIENT, asked("a"), ["server auth"], "invalid usage for client certificate: server auth"),
        (CLIENT, asked("a"), ["client auth", "cert sign"], "invalid usage for client certificate: cert sign"),
        (CLIENT, asked("a"), ["digital signature"], "missing required usage for client certificate: client auth"),
        (KUBELET, asked("a"), ["client auth"], "subject organization is not system:nodes"),
        (KUBELET, asked("a", ["system:nodes", "b"]), ["client auth"], "subject organization is not system:nodes"),
        (
            KUBELET,
            asked("a", ["system:nodes"]),
            ["client auth", "digital signature"],
            "subject common name does not begin with system:node:",
        ),
        (KUBELET, asked(*NODE, [HOST]), ["client auth"], "DNS subjectAltNames are not allowed"),
        (
            KUBELET,
            asked(*NODE, [x509.IPAddress(ipaddress.ip_address("10.0.0.1"))]),
            ["client auth"],
            "IP subjectAltNames are not allowed",
        ),
        (
            KUBELET,
            asked(*NODE),
            ["client auth"],
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (SERVING, asked("a"), ["server auth"], "subject organization is not system:nodes"),
        (SERVING, asked(*NODE), ["server auth"], "DNS or IP subjectAltName is required"),
        (
            SERVING,
            asked(*NODE, [HOST, x509.RFC822Name("a@b.c")]),
            ["server auth"],
            "Email subjectAltNames are not allowed",
        ),
        (
            SERVING,
            asked(*NODE, [HOST, x509.UniformResourceIdentifier("a://b")]),
            ["server auth"],
            "URI subjectAltNames are not allowed",
        ),
        (
            SERVING,
            asked(*NODE, [HOST]),
            ["server auth", "client auth"],
            "usages did not match [digital signature key encipherment server auth]",
        ),
        (
            SERVING,
            asked("a", ["system:nodes"], [HOST]),
            ["server auth", "digital signature"],
            "subject common name does not begin with system:node:",
        ),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
async def test_a_signer_refuses_other_requests(
    requester: Requester, signer: str, request_: Any, usages: list[str], message: str
) -> None:
    condition = await requester.failure(request_, signerName=signer, usages=usages)

    assert (condition["type"], condition["status"]) == ("Failed", "True")
    assert (condition["reason"], condition["message"]) == ("SignerValidationFailure", message)
    assert condition["lastUpdateTime"]
    assert condition["lastTransitionTime"]


async def test_serving_certificates_of_kubelets_are_signed(requester: Requester) -> None:
    certificate = await requester.certificate(
        asked(*NODE, [HOST]), signerName=SERVING, usages=["server auth", "digital signature"]
    )

    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]


async def test_requests_for_other_signers_are_left_alone(requester: Requester) -> None:
    name = await requester.create(asked("a"), signerName="example.com/a", usages=["any"])
    await requester.approve(name)

    await requester.certificate(asked("b"), signerName=CLIENT, usages=["client auth"])  # was approved later

    _, found = await requester.send("GET", f"{REQUESTS}/{name}")
    assert [each["type"] for each in found["status"]["conditions"]] == ["Approved"]
    assert "certificate" not in found["status"]


async def test_client_certificates_of_kubelets_are_approved_by_permission(requester: Requester) -> None:
    usages = ["client auth", "digital signature"]
    own = await requester.create(asked(*NODE), user="system:node:n", signerName=KUBELET, usages=usages)
    other = await requester.create(asked(*NODE), user="system:bootstrap:a", signerName=KUBELET, usages=usages)

    approved = [await requester.until(name, lambda status: "certificate" in status) for name in (own, other)]

    conditions = [found["status"]["conditions"][0] for found in approved]
    assert [condition["message"] for condition in conditions] == [
        "Auto approving self kubelet client certificate after SubjectAccessReview.",
        "Auto approving kubelet client certificate after SubjectAccessReview.",
    ]
    assert {condition["reason"] for condition in conditions} == {"AutoApproved"}
