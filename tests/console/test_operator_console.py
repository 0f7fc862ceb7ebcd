"""An operator that serves a console of its own kinds, on both clusters."""

from __future__ import annotations

import aiohttp
import pytest

import kubewright as kw
from kubewright.api import apps, core
from kubewright.cluster import Cluster
from kubewright.console import attach_console
from kubewright.console._operator_console import kinds_of_operator  # private: a pure function, tested without a browser
from kubewright.operator import SettingError
from kubewright.testing import RealCluster

pytestmark = pytest.mark.clusters


class AttachedSpec(kw.Model):
    size: int = 0


@kw.resource("attached.example.com/v1")
class Attached(kw.Resource[AttachedSpec, None]):
    """A kind of these tests."""


def operator_of_attached() -> kw.Operator:
    operator = kw.Operator("attached")

    @operator.reconciles(Attached, owns=[apps.Deployment], reads=[core.ConfigMap])
    async def reconcile(attached: Attached, ctx: kw.Context[Attached]) -> None: ...

    return operator


@pytest.mark.promise("Access to the console and its cost", "An operator can serve a console of its own kinds.")
def test_kinds_of_operator_include_dependents() -> None:
    assert kinds_of_operator(operator_of_attached()) == {
        "attached.example.com/attacheds",
        "apps/deployments",
        "apps/replicasets",
        "core/pods",
        "core/configmaps",
    }


@pytest.mark.promise("Access to the console and its cost", "An operator can serve a console of its own kinds.")
async def test_operator_serves_a_console(cluster: Cluster | RealCluster) -> None:
    operator, urls = operator_of_attached(), list[str]()
    attach_console(operator, announce=urls.append)
    async with cluster.client() as client, operator.running(client):
        [address] = urls
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            async with http.get(address, headers={"Accept": "text/html"}) as answer:
                text = await answer.text()
                assert answer.status == 200
                assert "invitation" not in str(answer.url)
            assert "/kinds/attached.example.com/attacheds" in text
            assert "/kinds/core/secrets" not in text
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientConnectionError):
            await http.get(address)


async def test_taken_port_fails_the_start(cluster: Cluster | RealCluster) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        operator = operator_of_attached()
        attach_console(operator, port=taken.getsockname()[1])
        async with cluster.client() as client:
            with pytest.raises(SettingError, match="the console cannot listen at 127"):
                async with operator.running(client):
                    pass
