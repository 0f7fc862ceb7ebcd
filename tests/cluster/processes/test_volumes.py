"""Volumes are folders at their mount paths, and follow their sources."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import core
from kubewright.api.meta import ObjectMeta
from kubewright.client import Client
from kubewright.cluster.processes import Image, Images, ProcessNode
from tests.cluster.processes.conftest import StartNode, event, is_ready, log, phase, pod, wait
from tests.patience import until

pytestmark = [
    pytest.mark.clusters,
    pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces need root or bubblewrap"),
]


def mount(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "mountPath": path, **more}


@pytest.fixture
async def config(client: Client, namespace: str) -> core.ConfigMap:
    """A ConfigMap with two keys."""
    return await client.create(core.ConfigMap(metadata=ObjectMeta(name="config"), data={"a": "one", "b": "two"}))


async def test_shows_files_of_config_maps_secrets_and_fields(
    client: Client, node: ProcessNode, config: core.ConfigMap
) -> None:
    await client.create(core.Secret(metadata=ObjectMeta(name="secret"), data={"key": b"hunter2"}))
    volumes = [
        {"name": "config", "configMap": {"name": "config"}},
        {"name": "chosen", "configMap": {"name": "config", "items": [{"key": "b", "path": "deep/er", "mode": 0o600}]}},
        {"name": "secret", "secret": {"secretName": "secret", "defaultMode": 0o400}},
        {"name": "none", "secret": {"secretName": "missing", "optional": True}},
        {"name": "fields", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    script = (
        "cat /etc/app/a /etc/app/b /chosen/deep/er /secret/key /fields/name; echo; stat -Lc %a /chosen/deep/er "
        "/secret/key; ls /none | wc -l; touch /etc/app/new || echo read-only"
    )
    mounts = [
        mount("config", "/etc/app"),
        mount("chosen", "/chosen"),
        mount("secret", "/secret"),
        mount("none", "/none"),
        mount("fields", "/fields"),
    ]
    container = {"args": [script], "volumeMounts": mounts}
    await client.create(pod("files", container, volumes=volumes, restartPolicy="Never"))
    await phase(client, "files", "Succeeded", "Failed")
    lines = [line for line in await log(client, "files") if "touch" not in line]
    assert lines == ["onetwotwohunter2files", "600", "400", "0", "read-only"]
    assert not any(name in os.listdir("/") for name in ("chosen", "secret", "fields"))


@pytest.mark.promise("Pods as processes", "Changes of ConfigMaps and Secrets reach the files of running pods.")
async def test_changes_reach_the_files_of_running_pods(
    client: Client, node: ProcessNode, config: core.ConfigMap
) -> None:
    container = {"volumeMounts": [mount("config", "/config")]}
    await client.create(pod("live", container, volumes=[{"name": "config", "configMap": {"name": "config"}}]))
    await wait(client, "live", is_ready)
    config.data = {"a": "changed", "c": "new"}
    await client.update(config)

    async def files() -> bool:
        result = await client.exec("live", ["sh", "-c", "cd /config && ls && cat *"])
        return result.stdout == b"a\nc\nchangednew"

    await until(files, "the new files")


async def test_waits_for_a_missing_config_map(client: Client, node: ProcessNode) -> None:
    container = {"args": ["cat /config/a"], "volumeMounts": [mount("config", "/config")]}
    volumes = [{"name": "config", "configMap": {"name": "config"}}]
    await client.create(pod("early", container, volumes=volumes, restartPolicy="Never"))
    assert 'configmap "config" not found' in await event(client, "early", "FailedMount")
    await client.create(core.ConfigMap(metadata=ObjectMeta(name="config"), data={"a": "here"}))
    await phase(client, "early", "Succeeded")
    assert await log(client, "early") == ["here"]


async def test_pods_reach_the_api_server_with_their_token(client: Client, node: ProcessNode, namespace: str) -> None:
    if await client.find(core.ServiceAccount, "default") is None:
        await client.create(core.ServiceAccount(metadata=ObjectMeta(name="default")))
    program = """
import asyncio
from kubewright.client import Client
async def main():
    async with Client.connect() as client:
        print((await client.server_version()).git_version.startswith("v1."), client.namespace)
asyncio.run(main())
"""
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    container = {
        "image": "python",
        "args": [program],
        "volumeMounts": [mount("api", "/var/run/secrets/kubernetes.io/serviceaccount", readOnly=True)],
    }
    volumes = [{"name": "api", "projected": {"sources": sources}}]
    made = pod("inside", container, volumes=volumes, restartPolicy="Never", serviceAccountName="default")
    await client.create(made)
    await phase(client, "inside", "Succeeded", "Failed")
    assert await log(client, "inside") == [f"True {namespace}"]


async def test_pods_find_their_token_without_mounts(client: Client, start_node: StartNode, namespace: str) -> None:
    await start_node(mounts="none")
    items = [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]
    container = {
        "args": ["cat $KUBEWRIGHT_SERVICE_ACCOUNT/namespace; cat $KUBEWRIGHT_POD_ROOT/config/x"],
        "volumeMounts": [mount("api", "/var/run/secrets/kubernetes.io/serviceaccount"), mount("empty", "/config")],
    }
    init = [
        {
            "name": "init",
            "image": "sh",
            "args": ["echo shared >$KUBEWRIGHT_POD_ROOT/config/x"],
            "volumeMounts": [mount("empty", "/config")],
        }
    ]
    volumes = [{"name": "api", "downwardAPI": {"items": items}}, {"name": "empty", "emptyDir": {}}]
    await client.create(pod("unmounted", container, initContainers=init, volumes=volumes, restartPolicy="Never"))
    await phase(client, "unmounted", "Succeeded", "Failed")
    assert await log(client, "unmounted", container="c0") == [f"{namespace}shared"]
    assert "mountPath (volumes are below $KUBEWRIGHT_POD_ROOT)" in await event(client, "unmounted", "NotHonored")


async def test_claims_outlive_pods(client: Client, node: ProcessNode) -> None:
    spec = core.PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"])
    spec.resources = core.VolumeResourceRequirements(requests={"storage": "1Gi"})  # type: ignore[dict-item]
    await client.create(core.PersistentVolumeClaim(metadata=ObjectMeta(name="data"), spec=spec))
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    for name, script in (("writer", "echo kept >/data/file"), ("reader", "cat /data/file")):
        container = {"args": [script], "volumeMounts": [mount("data", "/data")]}
        await client.create(pod(name, container, volumes=volumes, restartPolicy="Never"))
        await phase(client, name, "Succeeded")
        if name == "reader":
            assert await log(client, name) == ["kept"]
        await client.delete(core.Pod, name)
        await client.wait_until_gone(core.Pod, name)


class TestPaths:
    async def test_mounts_a_path_of_a_volume(self, client: Client, node: ProcessNode, config: core.ConfigMap) -> None:
        volumes = [{"name": "data", "emptyDir": {}}, {"name": "config", "configMap": {"name": "config"}}]
        mounts = [
            mount("data", "/all"),
            mount("data", "/part", subPathExpr="$(NAME)/sub"),
            mount("config", "/all/one.txt", subPath="a"),
        ]
        script = "echo x >/part/file; cat /all/web/sub/file /all/one.txt"
        container = {"args": [script], "volumeMounts": mounts, "env": [{"name": "NAME", "value": "web"}]}
        await client.create(pod("parts", container, volumes=volumes, restartPolicy="Never"))
        await phase(client, "parts", "Succeeded", "Failed")
        assert "".join(await log(client, "parts")) == "xone"

    @pytest.mark.promise("Pods as processes", "A subPath does not lead out of its volume.")
    async def test_sub_path_does_not_leave_the_volume(self, client: Client, node: ProcessNode) -> None:
        init = [
            {"name": "evil", "image": "sh", "args": ["ln -s /etc /data/link"], "volumeMounts": [mount("data", "/data")]}
        ]
        container = {"args": ["ls /stolen"], "volumeMounts": [mount("data", "/stolen", subPath="link")]}
        volumes = [{"name": "data", "emptyDir": {}}]
        await client.create(pod("thief", container, initContainers=init, volumes=volumes))
        assert "leaves the volume through a symbolic link" in await event(client, "thief", "Failed")

    async def test_host_path_needs_a_root(self, client: Client, start_node: StartNode, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "file").write_text("from the host")
        (tmp_path / "link").symlink_to("/etc")
        await start_node(host_root=tmp_path)
        for name, path in (("good", "/data"), ("bad", "/link")):
            container = {"args": ["cat /host/file"], "volumeMounts": [mount("host", "/host")]}
            volumes = [{"name": "host", "hostPath": {"path": path}}]
            await client.create(pod(name, container, volumes=volumes, restartPolicy="Never"))
        await phase(client, "good", "Succeeded")
        assert await log(client, "good") == ["from the host"]
        assert "leaves the volume through a symbolic link" in await event(client, "bad", "FailedMount")

    async def test_host_path_is_refused_without_a_root(self, client: Client, node: ProcessNode) -> None:
        volumes = [{"name": "host", "hostPath": {"path": "/etc"}}]
        await client.create(pod("host", {"volumeMounts": [mount("host", "/host")]}, volumes=volumes))
        assert "hostPath volumes need a folder" in await event(client, "host", "FailedMount")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
async def test_mounts_through_bubblewrap(client: Client, start_node: StartNode, config: core.ConfigMap) -> None:
    await start_node(mounts="bubblewrap")
    script = "cat /etc/app/a /deep/er/b; echo; echo done >/dev/termination-log; touch /etc/app/x; "
    script += "trap 'echo term; exit 0' TERM; while :; do sleep 0.05; done"
    mounts = [mount("config", "/etc/app"), mount("config", "/deep/er")]
    volumes = [{"name": "config", "configMap": {"name": "config"}}]
    await client.create(pod("wrapped", {"args": [script], "volumeMounts": mounts}, volumes=volumes))
    await phase(client, "wrapped", "Running")

    async def lines() -> list[str] | None:
        found = await log(client, "wrapped")
        return found if len(found) == 2 else None

    assert sorted(await until(lines)) == ["onetwo", "touch: cannot touch '/etc/app/x': Read-only file system"]
    assert (await client.exec("wrapped", ["cat", "/deep/er/a"])).stdout == b"one"
    following = asyncio.ensure_future(log(client, "wrapped", follow=True))
    await client.delete(core.Pod, "wrapped")
    await client.wait_until_gone(core.Pod, "wrapped")
    assert "term" in await following


async def test_a_user_reaches_kept_files_in_a_private_folder_and_no_others(
    client: Client, start_node: StartNode, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    (private / "program" / "data").mkdir(parents=True)
    (private / "program" / "data" / "file").write_text("kept")
    (private / "secret").write_text("not for others")
    private.chmod(0o700)
    image = Image(
        command=["/bin/sh", "-c"], allow_args=True, args=[":"], keep=[str(private / "program")], user="daemon"
    )
    await start_node(Images({"sh": image}))
    script = f"id -un; cat {private}/program/data/file; cat {private}/secret 2>/dev/null || echo refused"
    await client.create(pod("kept", {"args": [script]}, restartPolicy="Never"))
    await phase(client, "kept", "Succeeded")
    assert await log(client, "kept") == ["daemon", "keptrefused"]
    assert private.stat().st_mode & 0o777 == 0o700
