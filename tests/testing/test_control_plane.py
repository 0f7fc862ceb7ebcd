"""`ControlPlane`: starting, users, and what stays behind (nothing)."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.api import core, meta, rbac
from kubewright.client import Client, Forbidden, Unauthorized
from kubewright.testing import ControlPlane, ControlPlaneError
from kubewright.testing._ports import free_port  # private: loses the race for a port, which is rare otherwise
from kubewright.testing.binaries import kubernetes_version

pytestmark = pytest.mark.control_plane


async def test_it_serves_the_pinned_version(client: Client) -> None:
    assert (await client.server_version()).git_version == f"v{kubernetes_version()}"


def test_kubectl_works_with_the_kubeconfig(control_plane: ControlPlane) -> None:
    done = subprocess.run(
        [control_plane.binaries / "kubectl", "get", "namespaces", "--output=name"],
        env={"KUBECONFIG": str(control_plane.kubeconfig), "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "namespace/default" in done.stdout.splitlines()


@pytest.mark.promise("The control plane for tests", "It has RBAC, users and service accounts.")
async def test_a_user_may_do_only_what_rbac_grants(control_plane: ControlPlane, client: Client, namespace: str) -> None:
    async with Client.connect(kubeconfig=control_plane.add_user("jane")) as jane:
        with pytest.raises(Forbidden, match="jane"):
            await jane.list(core.ConfigMap, namespace)

        await grant(client, namespace, rbac.Subject(kind="User", name="jane", api_group="rbac.authorization.k8s.io"))

        assert list(await jane.list(core.ConfigMap, namespace)) is not None
        with pytest.raises(Forbidden):
            await jane.list(core.Secret, namespace)


@pytest.mark.promise("The control plane for tests", "It has RBAC, users and service accounts.")
async def test_a_user_belongs_to_all_the_groups_that_were_given(
    control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    group = f"readers of {namespace}"
    await grant(client, namespace, rbac.Subject(kind="Group", name=group, api_group="rbac.authorization.k8s.io"))
    kubeconfig = control_plane.add_user("joe, of the team/é", ["writers", group])
    async with Client.connect(kubeconfig=kubeconfig) as joe:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = await joe.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body)
        await joe.list(core.ConfigMap, namespace)

    user = json.loads(answer)["status"]["userInfo"]
    assert user["username"] == "joe, of the team/é"
    assert {"writers", group} <= set(user["groups"])


async def grant(client: Client, namespace: str, subject: rbac.Subject) -> None:
    rule = rbac.PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["list"])
    await client.create(rbac.Role(metadata=meta.ObjectMeta(name="reader", namespace=namespace), rules=[rule]))
    reference = rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="reader")
    await client.create(
        rbac.RoleBinding(
            metadata=meta.ObjectMeta(name="reader", namespace=namespace), role_ref=reference, subjects=[subject]
        )
    )


@pytest.mark.promise("The control plane for tests", "It has RBAC, users and service accounts.")
async def test_service_accounts_get_tokens_that_the_server_accepts(
    control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    account = core.ServiceAccount(metadata=meta.ObjectMeta(name="robot", namespace=namespace))
    await client.create(account)
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/robot/token"
    issued = control_plane.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"})

    token_review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": issued["status"]["token"]},
    }
    review = control_plane.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", token_review)

    assert review["status"]["authenticated"]
    assert review["status"]["user"]["username"] == f"system:serviceaccount:{namespace}:robot"


async def test_rejects_certificate_of_another_control_plane(control_plane: ControlPlane, tmp_path: Path) -> None:
    from kubewright.certificates import CertificateAuthority
    from kubewright.kubeconfig import write_kubeconfig

    stranger = CertificateAuthority().issue("stranger", ["system:masters"])
    write_kubeconfig(
        tmp_path / "config", server=control_plane.url, ca=control_plane.ca, user="stranger", credentials=stranger
    )
    async with Client.connect(kubeconfig=tmp_path / "config") as client:
        with pytest.raises(Unauthorized):
            await client.list(core.Namespace)


async def test_two_control_planes_are_independent(control_plane: ControlPlane, namespace: str) -> None:
    async with ControlPlane(feature_gates={"WatchList": False}) as other:
        async with Client.connect(kubeconfig=other.kubeconfig) as client:
            names = [each.metadata.name for each in await client.list(core.Namespace)]
            metrics = (await client.request("GET", "/metrics", accept="*/*")).decode()
        assert other.url != control_plane.url
    assert namespace not in names
    assert 'kubernetes_feature_enabled{name="WatchList",stage="BETA"} 0' in metrics


@pytest.mark.promise("The control plane for tests", "Nothing survives, even when Python is killed.")
def test_stopping_leaves_no_process_and_no_file() -> None:
    plane = ControlPlane().start()
    files = plane.kubeconfig.parent
    processes = processes_with(files)
    assert len(processes) == 2, "etcd and kube-apiserver name their files on their command lines"

    plane.stop()

    assert not files.exists()
    assert processes_with(files) == []
    plane.stop()
    with pytest.raises(ControlPlaneError, match="not running"):
        _ = plane.url


@pytest.mark.promise("The control plane for tests", "Nothing survives, even when Python is killed.")
def test_nothing_survives_when_python_is_killed() -> None:
    program = """
import sys, threading
from kubewright.testing import ControlPlane
# Not the main thread, and it ends: what dies with the thread that forked would be gone too early.
plane = ControlPlane(controllers=True)
starter = threading.Thread(target=plane.start)
starter.start(); starter.join()
plane.request("GET", "/readyz")
print(plane.kubeconfig.parent, plane._supervisor.pid, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        directory, supervisor = owner.stdout.readline().split()
        servers = processes_with(Path(directory))
        # Through pidfds we can wait for processes that are not our children, without asking again and again.
        ends = [os.pidfd_open(pid) for pid in (*servers, int(supervisor))]
        owner.send_signal(signal.SIGKILL)
    assert len(servers) == 3
    wait_for_ends(ends)
    assert processes_with(Path(directory)) == []
    assert not Path(directory).exists()


def test_servers_die_with_a_supervisor_that_is_killed() -> None:
    with ControlPlane() as plane:
        files = plane.kubeconfig.parent
        ends = [os.pidfd_open(pid) for pid in processes_with(files)]
        assert plane._supervisor is not None
        os.kill(plane._supervisor.pid, signal.SIGKILL)
        wait_for_ends(ends)
        with pytest.raises(ControlPlaneError, match="supervisor process has ended"):
            plane.restart_apiserver()
    assert not files.exists()


def test_a_server_that_does_not_start_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    plane = ControlPlane(apiserver_flags={"no-such-flag": "1"}, log_directory=tmp_path / "logs")
    with pytest.raises(ControlPlaneError, match=r"(?s)kube-apiserver exited with code 1.*unknown flag: --no-such-flag"):
        plane.start()
    assert "no-such-flag" in (tmp_path / "logs" / "kube-apiserver.log").read_text()
    with pytest.raises(ControlPlaneError, match="not running"):
        _ = plane.kubeconfig


def test_retries_with_another_port(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        taken = listener.getsockname()[1]
        offered = [taken, None, taken, None]  # etcd loses its first port, and kube-apiserver too

        def lose_the_race() -> int:
            return offered.pop(0) or free_port()

        # private: loses the race for a port, which is rare otherwise
        monkeypatch.setattr("kubewright.testing._controlplane.free_port", lose_the_race)
        with ControlPlane() as plane:
            assert plane.request("GET", "/readyz") == "ok"
    assert offered == []


def test_rejects_second_start(control_plane: ControlPlane) -> None:
    with pytest.raises(ControlPlaneError, match="already running"):
        control_plane.start()


def test_a_user_without_a_name_is_refused(control_plane: ControlPlane) -> None:
    with pytest.raises(ControlPlaneError, match="needs a name"):
        control_plane.add_user("")


def test_keys_are_readable_only_by_this_user(control_plane: ControlPlane) -> None:
    folder = control_plane.kubeconfig.parent
    assert folder.stat().st_mode & 0o077 == 0
    for path in (*folder.glob("*.key"), *folder.glob("*.kubeconfig")):
        assert path.stat().st_mode & 0o077 == 0, path


async def test_pods_need_a_service_account_when_there_are_controllers() -> None:
    async with (
        ControlPlane(controllers=True) as plane,
        Client.connect(kubeconfig=plane.kubeconfig) as client,
    ):
        pod = core.Pod(
            metadata=meta.ObjectMeta(name="web", namespace="default"),
            spec=core.PodSpec(containers=[core.Container(name="main", image="nginx")]),
        )
        made = await client.create(pod)
    assert made.spec.service_account_name == "default"
    assert any(volume.name.startswith("kube-api-access-") for volume in made.spec.volumes or [])


def processes_with(directory: Path) -> list[int]:
    """The processes whose command line names that directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(os.fsencode(directory) in argument for argument in arguments[1:]):
                found.append(int(entry.name))
    return found


def wait_for_ends(pidfds: list[int]) -> None:
    for pidfd in pidfds:
        readable, _, _ = select.select([pidfd], [], [], 60)
        os.close(pidfd)
        assert readable, "a process is still there after a minute"
