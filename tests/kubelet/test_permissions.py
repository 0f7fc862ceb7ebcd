"""Who may use the streams of a pod, on an embedded cluster with RBAC; and who may use the kubelet."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import aiohttp
import pytest

from kubewright.api import core, rbac
from kubewright.api.meta import ObjectMeta
from kubewright.certificates import CertificateAuthority
from kubewright.client import ApiError, Client, Forbidden
from kubewright.cluster import Cluster
from kubewright.http import Server
from kubewright.kubelet import KubeletServer, NodeCredentials
from kubewright.streaming import upgrade_headers
from tests.kubelet.conftest import Processes, pod


@pytest.fixture
async def rbac_cluster() -> AsyncIterator[Cluster]:
    """An embedded cluster with RBAC, and the pod `web` on a node without a kubelet."""
    async with Cluster(rbac=True) as cluster:
        client = cluster.client()
        await client.create(core.Node(metadata=ObjectMeta(name="bare")))
        await client.create(pod("web", "bare"))
        yield cluster


async def grant(client: Client, user: str, verb: str) -> None:
    rules = [rbac.PolicyRule(api_groups=[""], resources=["pods/exec"], verbs=[verb])]
    await client.create(rbac.Role(metadata=ObjectMeta(name=user), rules=rules))
    subjects = [rbac.Subject(kind="User", name=user, api_group="rbac.authorization.k8s.io")]
    ref = rbac.RoleRef(kind="Role", name=user, api_group="rbac.authorization.k8s.io")
    await client.create(rbac.RoleBinding(metadata=ObjectMeta(name=user), subjects=subjects, role_ref=ref))


async def test_permission_to_get_is_not_enough(rbac_cluster: Cluster) -> None:
    await grant(rbac_cluster.client(), "reader", "get")
    with pytest.raises(Forbidden, match='cannot create resource "pods/exec"'):
        await rbac_cluster.client_as("reader").exec("web", ["true"])


async def test_node_without_a_kubelet_is_reported(rbac_cluster: Cluster) -> None:
    await grant(rbac_cluster.client(), "admin", "*")
    with pytest.raises(ApiError, match="it runs no containers"):
        await rbac_cluster.client_as("admin").exec("web", ["true"])


class TestKubelet:
    """The node's endpoints, without an API server."""

    @pytest.fixture
    def authority(self) -> CertificateAuthority:
        """The CA of both sides."""
        return CertificateAuthority("test")

    @pytest.fixture
    async def server(self, authority: CertificateAuthority, tmp_path: Path) -> AsyncIterator[Server]:
        """A kubelet that allows only `apiserver`."""

        async def authorize(user: str, groups: Sequence[str], verb: str, subresource: str) -> bool:
            return user == "apiserver"

        credentials = NodeCredentials(authority.issue("node", hosts=("127.0.0.1",)), authority.pair.certificate)
        kubelet = KubeletServer(Processes(tmp_path), authorize)
        async with Server(kubelet.handle, tls=credentials.tls_context()) as server:
            yield server

    async def get(
        self,
        server: Server,
        authority: CertificateAuthority,
        user: str | None,
        path: str,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        context = ssl.create_default_context(cadata=authority.pair.certificate.decode())
        if user is not None:
            with tempfile.TemporaryDirectory() as folder:
                context.load_cert_chain(*authority.issue(user).write(Path(folder), user))
        async with aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{server.port}{path}"
            async with session.get(url, ssl=context, headers=headers) as response:
                return response.status, "" if response.status == 101 else await response.text()

    async def test_needs_a_certificate(self, server: Server, authority: CertificateAuthority) -> None:
        status, text = await self.get(server, authority, None, "/containerLogs/default/web/app")
        assert (status, text) == (401, "Unauthorized: a client certificate is required")

    async def test_needs_a_permission(self, server: Server, authority: CertificateAuthority) -> None:
        status, text = await self.get(server, authority, "other", "/exec/default/web/app?command=true")
        assert (status, "user=other, verb=create" in text) == (403, True)

    async def test_health_needs_nothing(self, server: Server, authority: CertificateAuthority) -> None:
        assert await self.get(server, authority, None, "/healthz") == (200, "ok")

    @pytest.mark.parametrize(
        ("path", "status"),
        [
            ("/containerLogs/default/web/app", 200),
            ("/containerLogs/default/web/app?tailLines=-1", 400),
            ("/containerLogs/default/web/app?sinceTime=yesterday", 400),
            ("/exec/default/web/app?command=true", 400),
            ("/portForward/default/web", 400),
            ("/run/default/web/app", 404),
            ("/", 404),
        ],
    )
    async def test_answers(self, server: Server, authority: CertificateAuthority, path: str, status: int) -> None:
        assert (await self.get(server, authority, "apiserver", path))[0] == status

    @pytest.mark.promise("Streams of pods", "A node refuses WebSocket requests of pages of other hosts.")
    @pytest.mark.parametrize(
        ("path", "protocol"),
        [
            ("/exec/default/web/app?command=true", "v5.channel.k8s.io"),
            ("/attach/default/web/app", "v5.channel.k8s.io"),
            ("/portForward/default/web", "SPDY/3.1+portforward.k8s.io"),
        ],
    )
    async def test_refuses_other_origins(
        self, server: Server, authority: CertificateAuthority, path: str, protocol: str
    ) -> None:
        asked = upgrade_headers([protocol])
        for origin in ("https://evil.example.com", "null", f"https://127.0.0.1:{server.port + 1}"):
            answer = await self.get(server, authority, "apiserver", path, {**asked, "Origin": origin})
            assert answer == (403, "the Origin of this WebSocket request is another host")
        own = {**asked, "Origin": f"https://127.0.0.1:{server.port}"}
        assert (await self.get(server, authority, "apiserver", path, own))[0] == 101
