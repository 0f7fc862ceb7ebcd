"""`pods/proxy` and `services/proxy`.

A real API server proxies to no loopback address, and tests listen on no other. Requests that reach a program therefore
run on an embedded cluster whose pods are on loopback; requests that are refused run on both API servers.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from kubewright.api import core
from kubewright.api.meta import ObjectMeta
from kubewright.client import (
    Client,
    Forbidden,
    HttpTransport,
    MergePatch,
    Request,
    RequestHeaders,
    load_config,
)
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.cluster.services import PORTS_ANNOTATION
from kubewright.http import ByteStream, Server, ServerRequest, ServerResponse
from tests.cluster.services.conftest import run_pod
from tests.patience import PATIENCE

PAGE = (
    '<html><head><link href="/style.css"></head><body><a href="/x/y?z=1">a</a><a href="rel">b</a>'
    '<a href="http://other/x">c</a><img src="//h/i.png"><form action="/go"></form></body></html>'
)


async def program(request: ServerRequest) -> ServerResponse:
    """Describes each request; paths choose other answers."""
    body = await request.body(largest=2**20)
    headers = [
        ("Content-Type", "text/plain"),
        ("X-Custom", "a"),
        ("X-Custom", "b"),
        ("Access-Control-Allow-Origin", "*"),
    ]
    if request.path == "/page":
        return ServerResponse(200, PAGE.encode(), [("Content-Type", "text/html; charset=utf-8")])
    if request.path == "/redirect":
        return ServerResponse(302, b"", [("Location", request.query)])
    if request.path == "/failure":
        return ServerResponse(503, b"down", headers)
    if request.path == "/echo" and request.upgrades:

        async def echo(stream: ByteStream) -> None:
            while data := await stream.read():
                await stream.write(data[::-1])

        return ServerResponse(101, headers=[("Connection", "Upgrade"), ("Upgrade", "reversed")], upgrade=echo)
    described = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": dict(request.headers.pairs()),
        "body": body.decode(),
    }
    return ServerResponse(200, msgspec.json.encode(described), headers)


class Browser:
    """Sends requests to the API server and follows no redirects."""

    def __init__(self, transport: HttpTransport, namespace: str) -> None:
        self._transport = transport
        self.prefix = f"/api/v1/namespaces/{namespace}"

    async def __call__(
        self, method: str, path: str, body: bytes | None = None, *headers: tuple[str, str]
    ) -> tuple[int, Any, bytes]:
        path, _, query = f"{self.prefix}{path}".partition("?")
        pairs = [(name, value) for name, _, value in (each.partition("=") for each in query.split("&") if each)]
        request = Request(method=method, path=path, query=pairs, headers=RequestHeaders(headers), body=body)
        response = await self._transport.send(request)
        return response.status, response.headers, await response.read()

    async def described(self, method: str, path: str, body: bytes | None = None, *headers: tuple[str, str]) -> Any:
        status, _, content = await self(method, path, body, *headers)
        assert status == 200, content
        return msgspec.json.decode(content)

    async def upgraded(self, path: str, protocol: str) -> ByteStream:
        headers = {"Connection": "Upgrade", "Upgrade": protocol}
        response = await self._transport.send(
            Request(method="GET", path=f"{self.prefix}{path}", headers=headers, stream=True, upgrade=True)
        )
        assert response.status == 101
        return response.upgraded()

    async def message(self, path: str) -> tuple[int, str]:
        status, _, content = await self("GET", path)
        return status, msgspec.json.decode(content)["message"]


@contextlib.asynccontextmanager
async def browsing(cluster: Cluster, namespace: str) -> AsyncIterator[Browser]:
    """Yields an administrator's browser."""
    await cluster.serve()
    transport = HttpTransport(load_config(kubeconfig=cluster.kubeconfig()), SystemClock())
    yield Browser(transport, namespace)
    await transport.close()


async def create_web(client: Client, address: str, port: int) -> None:
    """Creates the pod `web`, the Service `web`, and its endpoints."""
    pod = await run_pod(client, "web", address, core.ContainerPort(container_port=port))
    ports = [core.ServicePort(name="http", port=80, target_port=port)]
    await client.create(core.Service(metadata=ObjectMeta(name="web"), spec=core.ServiceSpec(ports=ports)))
    reference = core.ObjectReference(kind="Pod", namespace=client.namespace, name="web", uid=pod.metadata.uid)
    subset = core.EndpointSubset(
        addresses=[core.EndpointAddress(ip=address, target_ref=reference)],
        ports=[core.EndpointPort(name="http", port=port)],
    )
    await client.create(core.Endpoints(metadata=ObjectMeta(name="web"), subsets=[subset]))


@pytest.fixture
async def near() -> AsyncIterator[Cluster]:
    """An embedded cluster whose pods are programs on loopback."""
    async with Cluster(service_range="loopback") as cluster:
        yield cluster


@pytest.fixture
async def web(near: Cluster) -> AsyncIterator[str]:
    """A program behind the pod and the Service `web`. Its host and port."""
    async with Server(program, host="127.0.0.1") as server:
        await create_web(near.client(), "127.0.0.1", server.port)
        yield f"127.0.0.1:{server.port}"


@pytest.fixture
async def browse(near: Cluster) -> AsyncIterator[Browser]:
    """A browser in front of the program."""
    async with browsing(near, "default") as made:
        yield made


class TestRequests:
    @pytest.mark.promise("Streams of pods", "`pods/proxy` and `services/proxy` pass requests on to programs.")
    @pytest.mark.parametrize("name", ["pods/web", "pods/web:{port}", "pods/http:web:{port}"])
    async def test_pods(self, browse: Browser, web: str, name: str) -> None:
        got = await browse.described("GET", f"/{name.format(port=web.rpartition(':')[2])}/proxy/some/where?a=b")
        assert (got["method"], got["path"], got["query"], got["body"]) == ("GET", "/some/where", "a=b", "")

    @pytest.mark.parametrize("name", ["web:80", "web:http", "http:web:80", "http:web:http"])
    async def test_services(self, browse: Browser, web: str, name: str) -> None:
        got = await browse.described("GET", f"/services/{name}/proxy/some/where")
        assert got["path"] == "/some/where"

    @pytest.mark.parametrize("name", ["pods/web", "pods/web:8080", "services/web:80"])
    async def test_ports_of_pods_that_share_an_address(self, near: Cluster, browse: Browser, name: str) -> None:
        client = near.client()
        await create_web(client, "127.0.0.1", 8080)
        async with Server(program, host="127.0.0.1") as server:
            annotations = {PORTS_ANNOTATION: f"8080={server.port}"}
            await client.patch(core.Pod, "web", MergePatch({"metadata": {"annotations": annotations}}))
            assert (await browse.described("GET", f"/{name}/proxy/some/where"))["path"] == "/some/where"

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    async def test_all_methods(self, browse: Browser, web: str, method: str) -> None:
        body = b"content" if method in ("POST", "PUT", "PATCH") else None
        got = await browse.described(method, "/pods/web/proxy/a", body, ("Accept", "text/html"))
        assert (got["method"], got["body"]) == (method, "content" if body else "")

    async def test_head(self, browse: Browser, web: str) -> None:
        status, headers, body = await browse("HEAD", "/pods/web/proxy/a")
        assert (status, body) == (200, b"")
        assert int(headers["Content-Length"]) > 0

    async def test_headers_of_the_request(self, browse: Browser, web: str) -> None:
        sent = [
            ("X-Forwarded-For", "1.2.3.4"),
            ("X-Remote-User", "root"),
            ("Cookie", "a=b"),
            ("Connection", "keep-alive, X-Foo"),
            ("X-Foo", "1"),
            ("Accept", "text/plain"),
        ]
        headers = (await browse.described("GET", "/pods/web/proxy/a/b/", None, *sent))["headers"]
        assert headers["x-forwarded-for"] == "1.2.3.4, 127.0.0.1"
        assert headers["x-forwarded-uri"] == f"{browse.prefix}/pods/web/proxy/a/b/"
        assert (headers["cookie"], headers["accept"]) == ("a=b", "text/plain")
        assert headers["host"].startswith("127.0.0.1:")
        assert not {"x-remote-user", "x-foo", "authorization", "connection"} & set(headers)

    @pytest.mark.parametrize(
        ("sent", "received"),
        [
            ("/", "/"),
            ("/a/", "/a/"),
            ("/a%2Fb/c%20d", "/a/b/c%20d"),
            ("/a//b", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/%C3%A4", "/%C3%A4"),
            ("/a;b=c,d:e@f$g&h+i", "/a;b=c,d:e@f$g&h+i"),
        ],
    )
    async def test_paths(self, browse: Browser, web: str, sent: str, received: str) -> None:
        assert (await browse.described("GET", f"/pods/web/proxy{sent}"))["path"] == received

    async def test_upgrades_pass_through(self, browse: Browser, web: str) -> None:
        async with asyncio.timeout(PATIENCE):
            stream = await browse.upgraded("/pods/web/proxy/echo", "reversed")
            await stream.write(b"hello")
            assert await stream.read() == b"olleh"
            stream.close()


class TestResponses:
    async def test_headers(self, browse: Browser, web: str) -> None:
        status, headers, body = await browse("GET", "/pods/web/proxy/failure")
        assert (status, body, headers.all("X-Custom")) == (503, b"down", ["a", "b"])
        assert headers["Cache-Control"] == "no-cache, private"
        assert "Access-Control-Allow-Origin" not in headers

    @pytest.mark.parametrize("query", ["", "?a=b"])
    async def test_missing_slash_is_redirected(self, browse: Browser, web: str, query: str) -> None:
        status, headers, body = await browse("GET", f"/services/web:80/proxy{query}")
        assert (status, body) == (301, b"")
        assert headers["Location"] == f"{browse.prefix}/services/web:80/proxy/{query}"

    @pytest.mark.parametrize(
        ("sent", "received"),
        [
            ("/there", "{prefix}/there"),
            ("/there/", "{prefix}/there/"),
            ("http://{web}/there", "{prefix}/there"),
            ("https://{web}/there", "{prefix}/there"),
            ("http://example.com/x", "http://example.com/x"),
            ("rel/x", "rel/x"),
        ],
    )
    async def test_redirects_lead_through_the_proxy(self, browse: Browser, web: str, sent: str, received: str) -> None:
        async def redirect(request: ServerRequest) -> ServerResponse:
            return ServerResponse(302, b"", [("Location", sent.format(web=f"{address}:{server.port}"))])

        address = web.rpartition(":")[0]
        async with Server(redirect, host=address) as server:
            name = f"/pods/web:{server.port}/proxy"
            status, headers, _ = await browse("GET", f"{name}/a/redirect")
        prefix = f"{browse.prefix}{name}"
        assert (status, headers["Location"]) == (302, received.format(prefix=prefix))

    async def test_links_of_pages_lead_through_the_proxy(self, browse: Browser, web: str) -> None:
        status, _, body = await browse("GET", "/services/web:http/proxy/page")
        prefix = f"{browse.prefix}/services/web:http/proxy"
        expected = PAGE
        for path in ("/style.css", "/x/y?z=1", "/go"):
            expected = expected.replace(f'"{path}"', f'"{prefix}{path}"')
        assert (status, body.decode()) == (200, expected)


@pytest.mark.clusters
class TestRefusals:
    """Requests that reach no program. The address of `web` is one of documentation, which leads nowhere."""

    @pytest.fixture
    def client(self, cluster: Cluster, namespace: str) -> Client:
        """A client of the administrator."""
        return cluster.client(namespace=namespace)

    @pytest.fixture
    async def web(self, client: Client) -> AsyncIterator[None]:
        """The pod and the Service `web`."""
        await create_web(client, "192.0.2.1", 8080)
        yield
        await client.delete(core.Pod, "web", grace_period_seconds=0)

    @pytest.fixture
    async def browse(self, cluster: Cluster, namespace: str) -> AsyncIterator[Browser]:
        """A browser of either cluster."""
        async with browsing(cluster, namespace) as made:
            yield made

    @pytest.mark.parametrize(
        ("path", "status", "message"),
        [
            ("/pods/none:80/proxy/x", 404, 'pods "none" not found'),
            ("/services/none:80/proxy/x", 404, 'services "none" not found'),
            ("/services/web:8080/proxy/x", 503, 'no service port 8080 found for service "web"'),
            ("/services/web:other/proxy/x", 503, 'no endpoints available for service "web:other"'),
            ("/services/web/proxy/x", 503, 'no endpoints available for service "web"'),
            ("/services/ftp:web:80/proxy/x", 400, 'invalid service request "ftp:web:80"'),
            ("/services/a:b:c:d/proxy/x", 400, 'invalid service request "a:b:c:d"'),
            ("/pods/ftp:web:80/proxy/x", 400, 'invalid pod request "ftp:web:80"'),
            ("/pods/new:80/proxy/x", 400, "address not allowed"),
        ],
    )
    @pytest.mark.usefixtures("web")
    async def test_messages(self, client: Client, browse: Browser, path: str, status: int, message: str) -> None:
        spec = core.PodSpec(containers=[core.Container(name="app", image="app")])
        await client.create(core.Pod(metadata=ObjectMeta(name="new"), spec=spec))
        assert await browse.message(path) == (status, message)

    async def test_loopback_addresses_are_rejected(self, client: Client, browse: Browser) -> None:
        await run_pod(client, "near", "127.0.0.1")
        assert await browse.message("/pods/near:80/proxy/") == (400, "address not allowed")

    @pytest.mark.usefixtures("web")
    async def test_endpoints_that_are_not_pods_are_rejected(self, client: Client, browse: Browser) -> None:
        endpoints = await client.get(core.Endpoints, "web")
        assert endpoints.subsets is not None
        assert endpoints.subsets[0].addresses is not None
        endpoints.subsets[0].addresses[0].target_ref = None
        await client.update(endpoints)
        expected = (503, 'no endpoints available for service "web:80"')
        assert await browse.message("/services/web:80/proxy/") == expected

    @pytest.mark.parametrize(
        ("method", "verb"),
        [("GET", "get"), ("POST", "create"), ("PUT", "update"), ("PATCH", "patch"), ("DELETE", "delete")],
    )
    async def test_other_users_need_a_permission(self, cluster: Cluster, method: str, verb: str) -> None:
        if not getattr(cluster, "rbac", True):  # an embedded one that allows everything
            async with Cluster(rbac=True) as strict:
                await self.refused(strict, "default", method, verb)
        else:
            await self.refused(cluster, "default", method, verb)

    async def refused(self, cluster: Cluster, namespace: str, method: str, verb: str) -> None:
        with pytest.raises(Forbidden, match=f'cannot {verb} resource "services/proxy" in API group ""'):
            await cluster.client_as("joe").request(method, f"/api/v1/namespaces/{namespace}/services/web:80/proxy/x")


class TestPrograms:
    async def test_closed_ports_are_reported(self, browse: Browser, web: str) -> None:
        expected = "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused"
        assert await browse.message("/pods/web:1/proxy/x") == (503, expected)

    async def test_large_pages_pass_unchanged(self) -> None:
        large = b"<p>" + base64.b64encode(os.urandom(3 * 2**18)) + b'<a href="/x">'  # its links are not rewritten

        async def page(request: ServerRequest) -> ServerResponse:
            return ServerResponse(200, large, [("Content-Type", "text/html")])

        async with Cluster(service_range="loopback") as cluster, Server(page, host="127.0.0.1") as server:
            client = cluster.client()
            await run_pod(client, "web", "127.0.0.1")
            got = await client.request("GET", f"/api/v1/namespaces/default/pods/web:{server.port}/proxy/")
            assert got == large

    @pytest.mark.parametrize(
        "piece", ["<a", "<a ", '<a "', "<a href='", "a", "<a href=", "<a b='c=\"'", "<" * 9, "<a " + "b" * 99]
    )
    async def test_hostile_pages_take_linear_time(self, piece: str) -> None:
        content = ("<a " + piece * (2**20 // len(piece)))[: 2**20 - 1].encode()

        async def page(request: ServerRequest) -> ServerResponse:
            return ServerResponse(200, content + request.query.encode(), [("Content-Type", "text/html")])

        async with Cluster(service_range="loopback") as cluster, Server(page, host="127.0.0.1") as server:
            client = cluster.client()
            await run_pod(client, "web", "127.0.0.1")
            path = f"/api/v1/namespaces/default/pods/web:{server.port}/proxy/"
            for query in ({}, {">": ""}):
                assert (await client.request("GET", path, query=query)).startswith(b"<a ")

    async def test_simulated_pods_are_rejected(self) -> None:
        async with Cluster(workloads=True) as cluster:
            await run_pod(cluster.client(), "web", "10.244.0.9")
            with pytest.raises(
                Exception, match="does not support proxying to nodes, and to pods that are not programs"
            ):
                await cluster.client().request("GET", "/api/v1/namespaces/default/pods/web:80/proxy/")
