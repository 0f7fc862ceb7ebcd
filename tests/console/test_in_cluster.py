"""The console in a cluster: kubectl installs the manifests, and the process runs like its pod."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest
import yaml

from kubewright.api import ObjectMeta, apps, core, rbac
from kubewright.client import Client, load_config
from kubewright.cluster import Cluster
from kubewright.console.manifests import (
    NAME,
    NAMESPACE,
    PORT,
    TLS_SECRET,
    CertificateSource,
    manifest_files,
    write_manifests,
)
from kubewright.testing import RealCluster, setup_binaries
from tests.patience import PATIENCE

pytestmark = [pytest.mark.clusters, pytest.mark.control_plane]  # kubectl

Clusters = Cluster | RealCluster
HTML = {"Accept": "text/html"}


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"rbac": True, "controllers": True}


@pytest.fixture
async def admin(cluster: Clusters) -> AsyncIterator[Client]:
    await cluster.serve()
    async with cluster.client() as client:
        yield client


@pytest.fixture
async def installed(cluster: Clusters, admin: Client, tmp_path: Path) -> AsyncIterator[None]:
    """`kubectl apply -k`."""
    folder = tmp_path / "console"
    write_manifests(folder)
    kubectl = await asyncio.create_subprocess_exec(
        setup_binaries() / "kubectl",
        *("--kubeconfig", cluster.kubeconfig(), "--cache-dir", tmp_path / "cache", "apply", "-k", folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await kubectl.communicate()
    assert kubectl.returncode == 0, said.decode()
    assert b"Warning" not in said
    yield
    await admin.delete(rbac.ClusterRoleBinding, NAME)
    await admin.delete(rbac.ClusterRoleBinding, f"{NAME}-view")
    await admin.delete(rbac.ClusterRole, NAME)
    await admin.delete(core.Namespace, NAMESPACE)


async def token_of(admin: Client, account: str, namespace: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    found: str = msgspec.json.decode(await admin.request("POST", path, body=body))["status"]["token"]
    return found


@asynccontextmanager
async def running(cluster: Clusters, admin: Client, args: list[str], folder: Path) -> AsyncIterator[tuple[str, str]]:
    """Runs the container's process like its pod, except for the address: a pod has its own network."""
    config = load_config(kubeconfig=cluster.kubeconfig(), environ={})
    account = folder / "account"
    account.mkdir()
    (account / "token").write_text(await token_of(admin, NAME, NAMESPACE))
    assert config.tls.ca_data is not None
    (account / "ca.crt").write_bytes(config.tls.ca_data)
    (account / "namespace").write_text(NAMESPACE)
    server = urlsplit(config.server)
    here = [word.replace("0.0.0.0", "127.0.0.1").replace(f"--port={PORT}", "--port=0") for word in args]
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).parent / "kubewright",
        *("ui", *here),
        cwd=folder,
        env={
            "PATH": str(Path(sys.executable).parent),
            "HOME": "/nonexistent",
            "KUBERNETES_SERVICE_HOST": server.hostname or "",
            "KUBERNETES_SERVICE_PORT": str(server.port),
            "KUBEWRIGHT_SERVICE_ACCOUNT": str(account),
            "PYTHONUNBUFFERED": "1",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    said = ""
    try:
        async with asyncio.timeout(PATIENCE):
            while "Ctrl-C" not in said:
                line = (await process.stdout.readline()).decode()
                assert line, said
                said += line
        yield next(word for word in said.split() if word.startswith("https://")), said
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        rest, _ = await process.communicate()
    assert process.returncode == 0, said + rest.decode()


@pytest.mark.promise(
    "Access to the console and its cost",
    "`kubectl apply -k` installs the console in a cluster, where its account can only read.",
)
async def test_kubectl_installs_a_working_console(
    cluster: Clusters, admin: Client, installed: None, cluster_namespace: str, tmp_path: Path
) -> None:
    """One test with three parts, because a real server needs a long time to delete a namespace."""
    await check_service_targets_port_of_process(admin)
    await check_account_can_only_read(cluster)
    await check_runs_with_own_account_and_shows_permitted_objects(cluster, admin, cluster_namespace, tmp_path)


async def check_service_targets_port_of_process(admin: Client) -> None:
    service = await admin.get(core.Service, NAME, NAMESPACE)
    deployment = await admin.get(apps.Deployment, NAME, NAMESPACE)
    assert deployment.spec is not None
    assert deployment.spec.template.spec is not None
    [container] = deployment.spec.template.spec.containers
    [port] = service.spec.ports or []
    [opened] = container.ports or []
    assert (port.port, port.target_port, opened.name) == (443, opened.name, "https")
    assert f"--port={opened.container_port}" in (container.args or [])
    labels = deployment.spec.template.metadata.labels or {}
    assert (service.spec.selector or {}).items() <= labels.items()


async def check_runs_with_own_account_and_shows_permitted_objects(
    cluster: Clusters, admin: Client, cluster_namespace: str, tmp_path: Path
) -> None:
    await admin.create(core.ServiceAccount(metadata=ObjectMeta(name="visitor", namespace=cluster_namespace)))
    visitor = await token_of(admin, "visitor", cluster_namespace)
    deployment = await admin.get(apps.Deployment, NAME, NAMESPACE)
    assert deployment.spec is not None
    assert deployment.spec.template.spec is not None
    [container] = deployment.spec.template.spec.containers
    assert container.command == ["kubewright", "ui"]
    async with running(cluster, admin, [*(container.args or [])], tmp_path) as (url, said):
        assert "Users sign in with their own token" in said
        assert "invitation" not in said
        connector = aiohttp.TCPConnector(ssl=False)  # the certificate is self-signed
        async with aiohttp.ClientSession(url, connector=connector) as http:
            async with http.get("/healthz", headers={"Host": "10.0.0.7:8080"}) as answer:
                assert answer.status == 200
            async with http.get("/", headers=HTML, allow_redirects=False) as answer:
                assert answer.status == 303
            # Like a forwarded port: another port, and the host name of the forwarding machine.
            headers = {**HTML, "Host": "localhost:8081", "Authorization": f"Bearer {visitor}"}
            async with http.get("/", headers=headers) as answer:
                assert answer.status == 200
                assert f"system:serviceaccount:{cluster_namespace}:visitor" in await answer.text()


async def check_account_can_only_read(cluster: Clusters) -> None:
    account = cluster.client_as(f"system:serviceaccount:{NAMESPACE}:{NAME}")
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    async def may(verb: str, group: str = "apps", resource: str = "deployments") -> bool:
        attributes = {"verb": verb, "group": group, "resource": resource}
        answer = await account.request("POST", review, body={"spec": {"resourceAttributes": attributes}})
        return bool(msgspec.json.decode(answer)["status"]["allowed"])

    assert [verb for verb in ("get", "list", "watch", "create", "update", "patch", "delete") if await may(verb)] == [
        "get",
        "list",
        "watch",
    ]
    assert not await may("impersonate", "", "users")
    assert await may("list", "", "pods")
    for verb in ("get", "list", "watch"):
        assert not await may(verb, "", "secrets")
        assert not await may(verb, "*", "*")


@pytest.mark.promise(
    "Access to the console and its cost",
    "`kubectl apply -k` installs the console in a cluster, where its account can only read.",
)
def test_named_kinds_limit_role_and_pages() -> None:
    files = {file.path: file.text for file in manifest_files(kinds=["example.com/foos", "core/pods"], read_only=True)}
    role = next(text for text in files["rbac.yaml"].split("---") if "kind: ClusterRole\n" in text)
    assert "'*'" not in role
    for word in ("example.com", "foos", "pods", "namespaces", "customresourcedefinitions"):
        assert f"- {word}\n" in role
    for word in ("--kind=example.com/foos", "--kind=core/pods", "--read-only"):
        assert word in files["deployment.yaml"]
    assert "name: view" not in files["rbac.yaml"]


def test_manifests_start_the_console_with_extensions() -> None:
    files = {file.path: file.text for file in manifest_files(extensions=["fleet.ui:fleet", "lamps:lamps"])}
    [container] = yaml.safe_load(files["deployment.yaml"])["spec"]["template"]["spec"]["containers"]
    assert {"--extension=fleet.ui:fleet", "--extension=lamps:lamps"} <= set(container["args"])


def rules(**settings: Any) -> dict[str, list[str]]:
    [text] = [file.text for file in manifest_files(**settings) if file.path == "rbac.yaml"]
    [role] = [found for found in yaml.safe_load_all(text) if found["kind"] == "ClusterRole"]
    return {rule["apiGroups"][0]: rule["resources"] for rule in role["rules"]}


@pytest.mark.promise(
    "Access to the console and its cost",
    "A console in a cluster serves TLS and reads no Secrets by default.",
)
@pytest.mark.parametrize("settings", [{}, {"groups": ["example.com"]}, {"kinds": ["core/*"]}])
def test_role_excludes_secrets(settings: dict[str, Any]) -> None:
    made = rules(**settings)
    assert "pods" in made[""]
    assert not {"secrets", "*"} & set(made[""])
    assert "*" not in made
    assert made.get("example.com", ["*"]) == ["*"]


@pytest.mark.parametrize(
    ("settings", "group", "plural"),
    [
        ({"secrets": True}, "*", "*"),
        ({"kinds": ["core/secrets"]}, "", "secrets"),
        ({"kinds": ["core/*"], "secrets": True}, "", "*"),
    ],
)
def test_role_includes_secrets_on_request(settings: dict[str, Any], group: str, plural: str) -> None:
    assert plural in rules(**settings)[group]


def deployed(certificates: CertificateSource) -> tuple[dict[str, str], dict[str, Any]]:
    files = {file.path: file.text for file in manifest_files(certificates=certificates)}
    return files, yaml.safe_load(files["deployment.yaml"])["spec"]["template"]["spec"]


@pytest.mark.parametrize("certificates", ["cert-manager", "secret"])
def test_mounts_certificate_from_secret(certificates: CertificateSource) -> None:
    files, pod = deployed(certificates)
    [container] = pod["containers"]
    assert {"name": "tls", "secret": {"secretName": TLS_SECRET}} in pod["volumes"]
    assert {"--tls-certificate=/tls/tls.crt", "--tls-key=/tls/tls.key"} <= set(container["args"])
    assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"
    assert ("certificate.yaml" in files) is (certificates == "cert-manager")
    assert ("certificate.yaml" in files["kustomization.yaml"]) is (certificates == "cert-manager")


@pytest.mark.promise(
    "Access to the console and its cost",
    "A console in a cluster serves TLS and reads no Secrets by default.",
)
def test_plain_http_is_opt_in() -> None:
    files, pod = deployed("none")
    [container] = pod["containers"]
    assert not [word for word in container["args"] if "tls" in word]
    assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTP"
    assert yaml.safe_load(files["service.yaml"])["spec"]["ports"][0]["port"] == 80
    assert "--tls-self-signed" in deployed("self-signed")[1]["containers"][0]["args"]


def test_only_labeled_namespaces_may_connect() -> None:
    [text] = [file.text for file in manifest_files() if file.path == "network-policy.yaml"]
    spec = yaml.safe_load(text)["spec"]
    [rule] = spec["ingress"]
    assert rule["ports"] == [{"port": PORT, "protocol": "TCP"}]
    assert rule["from"] == [{"podSelector": {}}, {"namespaceSelector": {"matchLabels": {"console": "enabled"}}}]
    assert {port["port"] for egress in spec["egress"] for port in egress["ports"]} == {53, 443, 6443}


def test_pins_images_by_digest() -> None:
    digest = f"@sha256:{'ab' * 32}"
    made = manifest_files(image=f"example.com/console:1{digest}", base_image=f"python:3.13-slim{digest}")
    files = {file.path: file.text for file in made}
    assert f"image: example.com/console:1{digest}\n" in files["deployment.yaml"]
    assert f"FROM python:3.13-slim{digest}\n" in files["Dockerfile"]
