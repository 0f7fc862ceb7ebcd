"""`--run-pods`: pods as processes, and what is left of them after the cluster was killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubewright.api import ObjectMeta, Quantity, core
from kubewright.api.core.v1 import Container, Pod, PodSpec, ServiceAccount
from kubewright.cli import run
from kubewright.client import BlockingClient, NotFound
from tests.patience import PATIENCE

IMAGES = """
[images.sleeper]
command = ["/bin/sh", "-c", "echo $$; sleep 1000 & exec sleep 1000"]

[images.writer]
command = ["/bin/sh", "-c", "cd \\"$KUBEWRIGHT_POD_ROOT\\"/volumes && cat host/greeting && echo kept > claim/kept"]
"""


@contextmanager
def started(folder: Path, *command: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Starts a cluster that runs pods; yields its process and its kubeconfig."""
    (folder / "images.toml").write_text(IMAGES)
    kubeconfig = folder / "kubeconfig"
    options = ["--run-pods", "--images", str(folder / "images.toml"), "--write-kubeconfig", str(kubeconfig)]
    with subprocess.Popen(
        [sys.executable, "-m", "kubewright.cli", *command, *options], stdout=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Ctrl-C" in line:
                break
        try:
            yield process, kubeconfig
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=PATIENCE)


def running_pod(client: BlockingClient) -> int:
    """Creates a pod and returns the number of its process."""
    try:
        client.get(ServiceAccount, "default")
    except NotFound:
        client.create(ServiceAccount(metadata=ObjectMeta(name="default")))
    spec = PodSpec(containers=[Container(name="main", image="sleeper")], automount_service_account_token=False)
    client.create(Pod(metadata=ObjectMeta(name="sleeper"), spec=spec))
    client.wait_for(Pod, "sleeper", lambda pod: pod.status.phase == "Running")
    return int(next(iter(client.logs("sleeper", follow=True))))


def ended_writer(client: BlockingClient) -> str:
    """Runs a pod that reads a hostPath volume and writes a claim; returns its log."""
    resources = core.VolumeResourceRequirements(requests={"storage": Quantity("1Mi")})
    claim = core.PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources)
    client.create(core.PersistentVolumeClaim(metadata=ObjectMeta(name="data"), spec=claim))
    volumes = [
        core.Volume(name="host", host_path=core.HostPathVolumeSource(path="/shared")),
        core.Volume(name="claim", persistent_volume_claim=core.PersistentVolumeClaimVolumeSource(claim_name="data")),
    ]
    mounts = [core.VolumeMount(name=one.name, mount_path=f"/volumes/{one.name}") for one in volumes]
    main = Container(name="main", image="writer", volume_mounts=mounts)
    spec = PodSpec(containers=[main], volumes=volumes, automount_service_account_token=False, restart_policy="Never")
    client.create(Pod(metadata=ObjectMeta(name="writer"), spec=spec))
    client.wait_for(Pod, "writer", lambda pod: pod.status.phase in ("Succeeded", "Failed"))
    return "".join(client.logs("writer"))


def wait_for_end(descriptor: int) -> None:
    assert select.select([descriptor], [], [], PATIENCE)[0], "the process did not end"
    os.close(descriptor)


@pytest.mark.promise("Pods as processes", "No process of a pod survives its cluster, even if that is killed.")
def test_no_process_survives_a_killed_cluster(tmp_path: Path) -> None:
    with started(tmp_path, "cluster", "start", "--workloads") as (process, kubeconfig):
        with BlockingClient.connect(kubeconfig=kubeconfig) as client:
            pid = running_pod(client)
        group = [each for each in os.listdir("/proc") if each.isdigit() and _group_of(each) == pid]
        ends = [os.pidfd_open(int(each)) for each in group]
        process.kill()
        for end in ends:
            wait_for_end(end)
    assert len(group) == 2


def _group_of(pid: str) -> int:
    try:
        return os.getpgid(int(pid))
    except ProcessLookupError:
        return 0


@pytest.mark.control_plane
def test_real_control_plane_runs_pods(tmp_path: Path) -> None:
    folders = made_folders(tmp_path)
    with started(tmp_path, "controlplane", "start", *folders) as (process, kubeconfig):
        with BlockingClient.connect(kubeconfig=kubeconfig) as client:
            end = os.pidfd_open(running_pod(client))
            assert ended_writer(client) == "hello"
        process.send_signal(signal.SIGINT)
        wait_for_end(end)
    assert [file.read_text() for file in tmp_path.glob("storage/default_data_*/kept")] == ["kept\n"]


def made_folders(folder: Path) -> list[str]:
    """Makes the folders of volumes; returns the options that name them."""
    (folder / "storage").mkdir()
    (folder / "host" / "shared").mkdir(parents=True)
    (folder / "host" / "shared" / "greeting").write_text("hello")
    return ["--host-root", str(folder / "host"), "--storage", str(folder / "storage")]


@pytest.mark.promise("Pods as processes", "Data of claims stays in a folder of your choice when the cluster ends.")
def test_keeps_claims_in_the_given_folder(tmp_path: Path) -> None:
    folders = made_folders(tmp_path)
    with (
        started(tmp_path, "cluster", "start", "--workloads", *folders) as (_, kubeconfig),
        BlockingClient.connect(kubeconfig=kubeconfig) as client,
    ):
        running_pod(client)
        assert ended_writer(client) == "hello"
    assert [file.read_text() for file in tmp_path.glob("storage/default_data_*/kept")] == ["kept\n"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run-pods"], "--run-pods requires --workloads"),
        (["--workloads", "--images", "images.toml"], "--images requires --run-pods"),
        (["--workloads", "--host-root", "/"], "--host-root requires --run-pods"),
        (["--workloads", "--storage", "/"], "--storage requires --run-pods"),
        (["--workloads", "--run-pods", "--storage", "data"], "'data' is not an absolute path; use '/"),
        (["--workloads", "--run-pods", "--host-root", "/does/not/exist"], "'/does/not/exist' does not exist"),
        (["--workloads", "--run-pods", "--storage", "/dev/null"], "'/dev/null' is not a folder"),
        (["--workloads", "--run-pods"], "--run-pods requires --images FILE, or the folder of a project"),
        (["--workloads", "--run-pods", "--images", "bad.toml"], 'image "app" has no command'),
    ],
)
def test_rejects_options_that_do_not_fit(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images.toml").write_text(IMAGES)
    (tmp_path / "bad.toml").write_text("[images.app]\n")
    assert run(["cluster", "start", *arguments]) == 2
    assert message in capsys.readouterr().err
