"""Uids and generated names depend on the object and the seed, and not on other objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.api import core, meta
from kubewright.client import ApiError, Client, RetryPolicy
from kubewright.cluster import Cluster


def config_map(name: str = "", **more: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name or None, namespace="default", **more))  # type: ignore[arg-type]


async def uid_of(client: Client, name: str) -> str:
    return (await client.create(config_map(name))).metadata.uid


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "With a seed, uids depend on kind, namespace, name and incarnation, so that runs can be compared.",
)
async def test_uids_do_not_depend_on_other_objects() -> None:
    found = []
    for names in (("a", "b"), ("extra", "b", "a")):
        async with Cluster(seed=7) as cluster:
            found.append({name: await uid_of(cluster.client(), name) for name in names})
    assert found[0].items() <= found[1].items()
    assert len(set(found[1].values())) == 3
    async with Cluster(seed=8) as cluster:
        assert await uid_of(cluster.client(), "a") != found[0]["a"]


async def test_each_incarnation_has_its_own_uid() -> None:
    runs = []
    for _ in range(2):
        async with Cluster(seed=7) as cluster:
            client = cluster.client()
            uids = []
            for _ in range(3):
                uids.append(await uid_of(client, "a"))
                await client.delete(core.ConfigMap, "a", "default")
            runs.append(uids)
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3


async def test_object_lost_in_a_rewind_does_not_give_its_uid_to_the_next() -> None:
    async with Cluster(seed=7) as cluster:
        client = cluster.client()
        snapshot = cluster.lab.snapshot()
        lost = await uid_of(client, "a")
        cluster.lab.rewind(snapshot)
        assert await uid_of(client, "a") != lost


async def test_cluster_that_continues_from_a_snapshot_repeats_no_uid(tmp_path: Path) -> None:
    uids = []
    for _ in range(2):
        async with Cluster(seed=7, snapshot=tmp_path / "snapshot") as cluster:
            client = cluster.client()
            uids.append(await uid_of(client, "a"))
            await client.delete(core.ConfigMap, "a", "default")
    assert uids[0] != uids[1]


async def test_without_a_seed_uids_differ_between_clusters() -> None:
    uids = []
    for _ in range(2):
        async with Cluster() as cluster:
            uids.append(await uid_of(cluster.client(), "a"))
    assert uids[0] != uids[1]


async def test_generated_names_depend_on_their_prefix_only() -> None:
    runs = []
    for prefixes in (("a-", "b-", "a-"), ("a-", "a-", "c-", "b-")):
        async with Cluster(seed=7) as cluster:
            client = cluster.client()
            names = [(await client.create(config_map(generate_name=prefix))).metadata.name for prefix in prefixes]
            runs.append(sorted(name for name in names if not name.startswith("c-")))
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3


async def test_failed_create_uses_no_generated_name() -> None:
    names = []
    for fails in (False, True):
        async with Cluster(seed=7) as cluster:
            client = cluster.client(retry=RetryPolicy(attempts=1))
            if fails:
                with cluster.lab.fail(verb="create"), pytest.raises(ApiError):
                    await client.create(config_map(generate_name="a-"))
                await client.create(config_map(generate_name="a-"), dry_run=True)
                invalid = config_map(generate_name="a-")
                invalid.metadata.labels = {"not a label": ""}
                with pytest.raises(ApiError):
                    await client.create(invalid)
            names.append((await client.create(config_map(generate_name="a-"))).metadata.name)
    assert names[0] == names[1]
