"""Objects that carry secrets show none in a log line or in a traceback with local variables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import JsonPatch, MergePatch, Request, StrategicPatch
from kubewright.client._heads import ServerAddress  # private: no public object shows the address of a proxy
from kubewright.client.credentials import ClientCertificate, Cluster, Entry, PluginOutput
from kubewright.client.credentials import User as KubeconfigUser
from kubewright.cluster import User
from kubewright.cluster.admission import Attributes
from kubewright.cluster.admission.webhooks import Response
from kubewright.cluster.storage import Entry as StoredEntry
from kubewright.console.forms import MergeConflict, MergeResult, WriteResult
from kubewright.controller.apply import ApplyRequest
from kubewright.operator.endpoints import PageRequest
from kubewright.webhook.reviews import AdmissionResponse

SECRET = core.Secret(metadata=ObjectMeta(name="key", namespace="n"), string_data={"password": "s3cret"})
EXEC = {"command": "x", "args": ["--password=s3cret"], "env": [{"name": "PASSWORD", "value": "s3cret"}]}
USER = {
    "client-certificate-data": "s3cret",
    "client-key-data": "s3cret",
    "token": "s3cret",
    "username": "jane",
    "password": "s3cret",
    "auth-provider": {"config": {"id-token": "s3cret"}},
    "exec": EXEC,
}
CLUSTER = {
    "server": "https://kind:6443",
    "proxy-url": "http://me:s3cret@proxy",
    "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"secret": "s3cret"}}],
}
TOKEN = {"token": "s3cret", "clientCertificateData": "s3cret", "clientKeyData": "s3cret"}
OBJECT = {"kind": "Secret", "data": {"password": "s3cret"}}
KIND: Any = "secrets"

CARRIERS: dict[str, tuple[Any, str]] = {
    "a client certificate": (ClientCertificate("jane", certificate_data=b"s3cret", key_data=b"s3cret"), "jane"),
    "the output of an exec plugin": (
        msgspec.convert({"kind": "ExecCredential", "status": TOKEN}, PluginOutput),
        "ExecCred",
    ),
    "an entry of a kubeconfig": (Entry("user", "jane", "/file", {"token": "s3cret"}), "jane"),
    "a user of a kubeconfig": (msgspec.convert(USER, KubeconfigUser), "jane"),
    "a cluster of a kubeconfig": (msgspec.convert(CLUSTER, Cluster), "https://kind:6443"),
    "a proxy": (ServerAddress.of("http://me:s3cret@proxy:3128/path"), "http://proxy:3128/path"),
    "a request": (Request(method="GET", path="/api", headers={"Authorization": "Bearer s3cret"}), "/api"),
    "a JSON patch": (JsonPatch([{"op": "add", "path": "/data/a", "value": "s3cret"}]), "add /data/a"),
    "a merge patch": (MergePatch({"data": {"a": "s3cret"}}), "data"),
    "a strategic patch": (StrategicPatch({"data": {"a": "s3cret"}}), "data"),
    "an apply request": (ApplyRequest.prepare(None, SECRET, "n"), "key"),
    "a request to a page": (PageRequest("/ping", headers={"Authorization": "Bearer s3cret"}), "/ping"),
    "a webhook response": (AdmissionResponse("the-uid", True, patch=b"s3cret"), "the-uid"),
    "the answer to a webhook": (Response("the-uid", True, patch=b"s3cret"), "the-uid"),
    "an admitted write": (
        Attributes(operation="CREATE", type=KIND, user=User("jane"), object=OBJECT, old=OBJECT),
        "jane",
    ),
    "a stored object": (StoredEntry("n", "key", 1, b"s3cret", None), "key"),
    "a merged object": (MergeResult({"data": "s3cret"}, [MergeConflict(("data",), "s3cret", "s3cret")]), "data"),
    "a written object": (WriteResult({"data": "s3cret"}, ["careful"]), "careful"),
}


@pytest.mark.parametrize("name", CARRIERS)
def test_no_secret_is_shown(name: str) -> None:
    carrier, recognized_by = CARRIERS[name]
    by_rich = getattr(carrier, "__rich_repr__", lambda: carrier)()
    for shown in (repr(carrier), repr(by_rich)):
        assert "s3cret" not in shown
        assert "czNjcmV0" not in shown, "nor in base64"
        assert recognized_by in shown
