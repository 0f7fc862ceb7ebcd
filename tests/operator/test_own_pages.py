"""Pages of an operator's own, beside its metrics."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.operator import Page, PageRequest, Running
from kubewright.operator.endpoints import sites_of
from kubewright.testing import RealCluster, operator_client
from tests.operator.page_clients import account, fetch, grant, made, may_get
from tests.patience import until


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"controllers": False, "rbac": True}


async def show(running: Running, request: PageRequest) -> Page:
    return Page(f"{running.operator.name}{request.below}".encode())


@pytest.mark.promise(
    "Watching an operator",
    "A page of the operator's own is served beside its metrics, to clients with the permission for its path.",
)
@pytest.mark.clusters
async def test_serves_own_pages_like_metrics(cluster: Cluster | RealCluster, client: Client, namespace: str) -> None:
    operator = made(namespace)
    operator.page("/queue")(show)
    operator.settings = operator.settings_with(metrics_bind="127.0.0.1:0", metrics_secure=True)
    stranger, reader = await account(client, namespace, "stranger"), await account(client, namespace, "reader")
    await grant(client, namespace, "reader", may_get("/queue"))
    own = await operator_client(cluster, operator, namespace)
    async with own, operator.running(own, install_crds=False) as running:
        [port] = (server.port for server in running.servers)

        async def shown() -> str:
            answer = await fetch(port, "/queue/one/", reader)
            return answer.body if answer.status == 200 else ""

        assert await until(shown) == f"{operator.name}/one"
        assert (await fetch(port, "/queue")).status == 401
        refused = await fetch(port, "/queue", stranger)
        assert (refused.status, f"{operator.name}-metrics-reader" in refused.body) == (403, True)
        assert (await fetch(port, "/metrics", reader)).status == 403


@pytest.mark.parametrize("path", ["queue", "/queue/", "/", "/a b", "/metrics", "/healthz/x", "/debug/mine", "/taken"])
def test_rejects_page_with_invalid_or_taken_path(path: str) -> None:
    operator = made("any")
    operator.page("/taken")(show)
    with pytest.raises(ValueError, match=r"the path of a page must begin with /|there is already a page"):
        operator.page(path)


def test_own_pages_are_served_only_with_metrics() -> None:
    operator = made("any")
    operator.page("/queue")(show)
    [probes] = sites_of(operator, operator.running(health_bind="127.0.0.1:8081"))
    assert "/queue" not in probes.pages
    [metrics] = sites_of(operator, operator.running(metrics_bind="0.0.0.0:8080"))
    assert (metrics.secure, sorted(metrics.pages)) == (True, ["/metrics", "/queue"])
