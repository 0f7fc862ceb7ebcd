"""The cluster as a whole: start, clients, seeds, snapshots, unsupported requests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubewright.api import ObjectMeta
from kubewright.api.core.v1 import ConfigMap, Namespace, Secret, Service
from kubewright.client import Client, Conflict, ConnectionLost, Invalid, NotFound, load_config
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, ClusterError, SnapshotError
from kubewright.cluster.machinery import REFUSED_PAGES, REFUSED_SUBRESOURCES, REFUSED_WRITES
from tests.cluster.conftest import Raw
from tests.patience import PATIENCE

MAPS = "/api/v1/namespaces/default/configmaps"


async def test_new_cluster_has_default_namespaces_and_service(embedded: Cluster) -> None:
    client = embedded.client()
    namespaces = await client.list(Namespace)
    assert [each.metadata.name for each in namespaces] == ["default", "kube-node-lease", "kube-public", "kube-system"]
    service = await client.get(Service, "kubernetes", "default")
    assert service.spec is not None
    assert service.spec.cluster_ip == "10.96.0.1"


async def test_client_in_this_process_supports_all_verbs(embedded: Cluster) -> None:
    async with embedded.client(field_manager="me") as client:
        made = await client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "v"}))
        made.data = {"k": "w"}
        updated = await client.update(made)
        assert updated.data == {"k": "w"}
        applied = await client.apply(ConfigMap(metadata=ObjectMeta(name="b"), data={"x": "y"}), force=True)
        assert applied.metadata.managed_fields is not None
        with pytest.raises(Conflict):
            await client.replace(made)
        with pytest.raises(Invalid):
            await client.create(ConfigMap(metadata=ObjectMeta(name="Not A Name")))
        async for event in client.watch(ConfigMap, "default"):
            assert (event.type, event.object.metadata.name) == ("ADDED", "a")
            break
        await client.delete(ConfigMap, "a")
        with pytest.raises(NotFound):
            await client.get(ConfigMap, "a")


async def test_changes_to_a_read_object_do_not_affect_the_cluster(embedded: Cluster) -> None:
    client = embedded.client()
    made = await client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "v"}))
    assert made.data is not None
    made.data["k"] = "mine"
    assert (await client.get(ConfigMap, "a")).data == {"k": "v"}


@pytest.mark.promise("The embedded cluster", "The same seed gives the same uids and names.")
async def test_same_seed_gives_same_uids_and_names() -> None:
    async def story() -> list[str]:
        async with Cluster(seed="story", clock=VirtualClock()) as cluster:
            client = cluster.client()
            made = [await client.create(ConfigMap(metadata=ObjectMeta(generate_name="x-"))) for _ in range(3)]
            return [f"{each.metadata.name} {each.metadata.uid}" for each in made]

    assert await story() == await story()
    assert len(set(await story())) == 3


async def test_uses_injected_clock(embedded: Cluster, clock: VirtualClock) -> None:
    await clock.advance(3600)
    made = await embedded.client().create(ConfigMap(metadata=ObjectMeta(name="a")))
    assert made.metadata.creation_timestamp == clock.now()


@pytest.mark.promise("The embedded cluster", "Objects survive in a snapshot; a file that is not a snapshot is kept.")
async def test_snapshot_restores_all_objects(tmp_path: Path) -> None:
    path = tmp_path / "cluster.snapshot"
    async with Cluster(snapshot=path) as cluster:
        made = await cluster.client().create(Secret(metadata=ObjectMeta(name="a"), string_data={"p": "x"}))
        revision = cluster.state.storage.revision
    assert path.stat().st_mode & 0o777 == 0o600
    async with Cluster(snapshot=path) as cluster:
        client = cluster.client()
        again = await client.get(Secret, "a")
        assert (again.metadata.uid, again.metadata.resource_version) == (
            made.metadata.uid,
            made.metadata.resource_version,
        )
        assert cluster.state.storage.revision == revision
        later = await client.create(Secret(metadata=ObjectMeta(name="b")))
        assert int(later.metadata.resource_version or 0) == revision + 1
        # History before the snapshot is unknown: a watch from there must list again.
        raw = Raw(cluster.transport())
        got = await raw("GET", f"{MAPS}?resourceVersion=2&resourceVersionMatch=Exact")
        assert got.status == 410


async def test_writes_snapshot_while_objects_change(tmp_path: Path) -> None:
    path, clock = tmp_path / "cluster.snapshot", VirtualClock()
    async with Cluster(snapshot=path, clock=clock, controllers=False) as cluster:
        await clock.advance(60)
        assert not path.exists()
        await cluster.client().create(ConfigMap(metadata=ObjectMeta(name="a")))
        await clock.advance(10)
        assert b'"name":"a"' in path.read_bytes()


@pytest.mark.promise("The embedded cluster", "Objects survive in a snapshot; a file that is not a snapshot is kept.")
async def test_rejects_and_keeps_file_that_is_not_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "diary"
    path.write_text("dear diary\n")
    with pytest.raises(SnapshotError, match="is not a snapshot of an embedded cluster; choose another file"):
        await Cluster(snapshot=path).start()
    assert path.read_text() == "dear diary\n"


async def test_rejects_unwritable_snapshot_at_start(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"cannot be written: the folder .*missing does not exist"):
        await Cluster(snapshot=tmp_path / "missing" / "cluster.snapshot").start()
    long = tmp_path / ("x" * 250)  # leaves no room for the name of the temporary file
    with pytest.raises(SnapshotError, match="cannot be written: File name too long"):
        await Cluster(snapshot=long).start()


async def test_errors_name_the_missing_step() -> None:
    cluster = Cluster()
    with pytest.raises(ClusterError, match="is not running"):
        cluster.client()
    async with cluster:
        with pytest.raises(ClusterError, match="already running"):
            await cluster.start()
        with pytest.raises(ClusterError, match="not served on a port"):
            cluster.kubeconfig()
        with pytest.raises(ClusterError, match="has no snapshot file"):
            cluster.save()
        with pytest.raises(ValueError, match="pass tls=True"):
            await cluster.serve(host="0.0.0.0", tls=False)
        raw = Raw(cluster.transport())
    with pytest.raises(ConnectionLost, match="has stopped"):
        await raw("GET", MAPS)


@pytest.mark.promise("The embedded cluster", "Unsupported requests are rejected with the reason.")
async def test_rejects_unsupported_writes_with_reason(embedded: Cluster, raw: Raw) -> None:
    for resource, reason in REFUSED_WRITES.items():
        if resource in embedded.dispatcher.supported:
            continue
        type_ = next(each for each in embedded.state.types if each.qualified == resource)
        prefix = f"/apis/{type_.group}/{type_.version}" if type_.group else "/api/v1"
        namespace = "/namespaces/default" if type_.namespaced else ""
        got = await raw("POST", f"{prefix}{namespace}/{type_.plural}", {"metadata": {"name": "a"}})
        expected = f"the embedded cluster does not support {reason}"
        assert (got.status, got.body["message"]) == (501, expected), resource


@pytest.mark.promise("The embedded cluster", "Unsupported requests are rejected with the reason.")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/api/v1/nodes/a/proxy/metrics", REFUSED_SUBRESOURCES["proxy"]),
        ("/metrics", REFUSED_PAGES["/metrics"]),
        ("/debug/pprof/heap", REFUSED_PAGES["/debug"]),
    ],
)
async def test_rejects_unsupported_subresources_and_paths_with_reason(raw: Raw, path: str, reason: str) -> None:
    got = await raw("GET", path)
    assert (got.status, got.body["message"]) == (501, f"the embedded cluster does not support {reason}")


async def test_internal_error_is_a_500_and_logged(
    embedded: Cluster, raw: Raw, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(embedded.state, "uid_of", lambda *_: 1 / 0)
    got = await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert (got.status, got.body["reason"]) == (500, "InternalError")
    assert "the embedded cluster failed at POST" in caplog.text


@pytest.mark.promise("The embedded cluster", "Requests over HTTP need credentials.")
async def test_requires_credentials_over_http() -> None:
    import aiohttp

    async with Cluster() as cluster:
        url = await cluster.serve()
        async with Client(load_config(kubeconfig=cluster.kubeconfig())) as client:
            await client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "v"}))
            assert (await cluster.client().get(ConfigMap, "a")).data == {"k": "v"}
            assert (await client.list(ConfigMap, "default"))[0].metadata.name == "a"
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{url}{MAPS}", ssl=False) as response:
                assert response.status == 401
                assert (await response.json())["reason"] == "Unauthorized"
            async with session.get(f"{url}{MAPS}", ssl=False, headers={"Authorization": "Bearer guess"}) as response:
                assert response.status == 401
            async with session.get(f"{url}/readyz", ssl=False) as response:
                assert (response.status, await response.text()) == (200, "ok")


@pytest.mark.promise("The embedded cluster", "Requests over HTTP need credentials.")
async def test_requires_token_without_tls() -> None:
    import aiohttp

    async with Cluster() as cluster:
        url = await cluster.serve(tls=False)
        assert url.startswith("http://127.0.0.1:")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{url}{MAPS}") as response:
                assert response.status == 401
            async with session.get(f"{url}{MAPS}", headers={"Authorization": f"Bearer {cluster.token}"}) as response:
                assert response.status == 200


async def test_watch_over_http_streams_and_ends_with_the_connection() -> None:
    async with Cluster() as cluster:
        await cluster.serve()
        async with Client(load_config(kubeconfig=cluster.kubeconfig())) as client:
            await cluster.client().create(ConfigMap(metadata=ObjectMeta(name="a")))
            async for event in client.watch(ConfigMap, "default"):
                assert event.object.metadata.name == "a"
                break
        assert await gone(cluster)


async def gone(cluster: Cluster) -> bool:
    """Returns whether all watches are closed; the server notices shortly after the client."""
    async with asyncio.timeout(PATIENCE):
        while cluster.state.storage._tables["/configmaps"].by_namespace:  # noqa: ASYNC110  (there is nothing to wait for)
            await asyncio.sleep(0)
    return True


async def test_rejects_a_client_of_a_user_that_is_only_a_name() -> None:
    async with Cluster() as cluster:
        with pytest.raises(TypeError, match=r"user must be a User, such as User.*, not 'joe'; .* client_as"):
            cluster.client(user="joe")  # type: ignore[arg-type]
