from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import BlockingClient, BlockingDiscovery, Discovery, NotFound
from kubewright.testing import ControlPlane


@pytest.fixture
def blocking(control_plane: ControlPlane) -> Iterator[BlockingClient]:
    with BlockingClient.connect(kubeconfig=control_plane.kubeconfig) as client:
        yield client


def config_map(namespace: str, name: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace))


@pytest.mark.promise("Reading with the client", "A blocking face with the same methods.")
def test_a_plain_script_reads_and_writes(blocking: BlockingClient, namespace: str) -> None:
    made = blocking.create(config_map(namespace, "a"))
    made.data = {"x": "y"}
    assert blocking.update(made).data == {"x": "y"}
    assert blocking.get(core.ConfigMap, "a", namespace).data == {"x": "y"}
    blocking.delete(core.ConfigMap, "a", namespace)
    with pytest.raises(NotFound):
        blocking.get(core.ConfigMap, "a", namespace)


def test_lists_are_returned_whole_or_iterated(blocking: BlockingClient, namespace: str) -> None:
    for name in "abc":
        blocking.create(config_map(namespace, name))
    assert len(blocking.list(core.ConfigMap, namespace)) == 3
    assert [obj.metadata.name for obj in blocking.iterate(core.ConfigMap, namespace, page_size=1)] == ["a", "b", "c"]


def test_a_watch_can_be_left_at_any_time(blocking: BlockingClient, namespace: str) -> None:
    blocking.create(config_map(namespace, "a"))
    for event in blocking.watch(core.ConfigMap, namespace):
        assert event.object.metadata.name == "a"
        break
    assert blocking.server_version().major == "1"


def test_threads_share_one_client(blocking: BlockingClient) -> None:
    names: list[str] = []

    def read() -> None:
        names.append(blocking.get(core.Namespace, "default").metadata.name)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == ["default"] * 8


def test_a_closed_client_says_so(control_plane: ControlPlane) -> None:
    client = BlockingClient.connect(kubeconfig=control_plane.kubeconfig)
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="this BlockingClient is closed"):
        client.server_version()


def test_has_the_namespace_and_discovery(control_plane: ControlPlane) -> None:
    with BlockingClient.connect(kubeconfig=control_plane.kubeconfig, namespace="here") as client:
        assert client.namespace == "here"
        assert client.discovery.find("apps", "Deployment").api_version == "apps/v1"
        assert "deploy" in client.discovery.served("apps/v1", "Deployment").short_names
        assert client.discovery.served("v1", "Pod") in client.discovery.resources(refresh=True)
        assert client.discovery.server_version() == client.server_version()


def test_missing_attribute_names_that_of_the_async_client(control_plane: ControlPlane) -> None:
    with BlockingClient.connect(kubeconfig=control_plane.kubeconfig) as client:
        unchecked: Any = client
        expected = (
            r"^a BlockingClient has no attribute 'config': the wrapped async client has one, as \.client\.config$"
        )
        with pytest.raises(AttributeError, match=expected):
            _ = unchecked.config
        with pytest.raises(AttributeError, match=r"^a BlockingClient has no attribute 'confg'$"):
            _ = unchecked.confg


def test_the_discovery_has_the_methods_of_the_async_one() -> None:
    for name in ("resources", "find", "served", "server_version"):
        assert inspect.signature(getattr(BlockingDiscovery, name)) == inspect.signature(getattr(Discovery, name))


@pytest.mark.promise("Reading with the client", "A blocking face with the same methods.")
def test_the_methods_are_those_of_the_async_client() -> None:
    assert BlockingClient.get.__doc__ is not None
    assert BlockingClient.get.__doc__.startswith("Returns one object.")
