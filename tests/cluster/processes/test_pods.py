"""Pods run as processes: commands, environment, restarts, init containers, sidecars, probes, hooks, termination."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from kubewright.api import core
from kubewright.api.meta import ObjectMeta
from kubewright.client import ApiError, Client, load_config
from kubewright.cluster.nodes import write_status
from kubewright.cluster.processes import Images, ProcessNode, RemoteServerError
from tests.cluster.processes.conftest import SHELL, StartNode, event, events, is_ready, log, phase, pod, wait
from tests.patience import until

pytestmark = pytest.mark.clusters


@pytest.mark.promise(
    "Pods as processes", "A pod with a mapped image runs as a process; its log, exec and status are real."
)
async def test_runs_a_pod_to_its_end(client: Client, node: ProcessNode) -> None:
    await client.create(pod("once", {"args": ["echo hello; echo there >&2"]}, restartPolicy="Never"))
    got = await phase(client, "once", "Succeeded", "Failed")
    assert got.status.phase == "Succeeded"
    assert sorted(await log(client, "once")) == ["hello", "there"]
    state = (got.status.container_statuses or [])[0].state
    assert state is not None
    assert state.terminated is not None
    assert (state.terminated.exit_code, state.terminated.reason) == (0, "Completed")
    assert {"Scheduled", "Pulled", "Created", "Started"} <= set(await events(client, "once"))


async def test_reports_exit_codes_and_termination_messages(client: Client, node: ProcessNode) -> None:
    failing = {"args": ["echo why >$FILE; exit 3"], "env": [{"name": "FILE", "value": "/dev/termination-log"}]}
    logging = {"args": ["echo from the log; kill -9 $$$$"], "terminationMessagePolicy": "FallbackToLogsOnError"}
    await client.create(pod("failing", failing, logging, restartPolicy="Never"))
    got = await phase(client, "failing", "Failed")
    states = [each.state.terminated for each in got.status.container_statuses or () if each.state is not None]
    assert [(each.exit_code, each.message) for each in states if each is not None] == [
        (3, "why\n"),
        (137, "from the log\n"),
    ]


async def test_expands_variables_and_starts_from_an_empty_environment(
    client: Client, node: ProcessNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_NODE", "secret")
    await client.create(core.ConfigMap(metadata=ObjectMeta(name="config"), data={"mode": "test", "level": "7"}))
    await client.create(core.Secret(metadata=ObjectMeta(name="secret"), data={"password": b"hunter2"}))
    env = [
        {"name": "FIRST", "value": "1"},
        {"name": "SECOND", "value": "$(FIRST)+$(C_mode) $$(FIRST) $(UNKNOWN)"},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "password"}}},
        {"name": "NONE", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "no", "optional": True}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "MILLIS", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu", "divisor": "1m"}}},
    ]
    made = pod(
        "env",
        {
            "args": ["env; echo arg=$(FIRST)"],
            "env": env,
            "envFrom": [{"prefix": "C_", "configMapRef": {"name": "config"}}],
            "resources": {"requests": {"cpu": "250m"}},
        },
        restartPolicy="Never",
    )
    made.metadata.labels = {"app": "web"}
    await client.create(made)
    got = await phase(client, "env", "Succeeded")
    found = dict(line.split("=", 1) for line in await log(client, "env"))
    assert found["SECOND"] == "1+test $(FIRST) $(UNKNOWN)"
    assert (found["PASSWORD"], found["NODE"], found["APP"], found["MILLIS"]) == ("hunter2", node.name, "web", "250")
    assert found["ADDRESS"] == found["POD_IP"] == got.status.pod_ip
    assert (found["C_level"], found["arg"], found["HOSTNAME"]) == ("7", "1", "env")
    assert found["KUBERNETES_SERVICE_HOST"] == "127.0.0.1"
    assert "NONE" not in found
    assert "OF_THE_NODE" not in found


async def test_restarts_with_backoff(client: Client, node: ProcessNode) -> None:
    await client.create(pod("crashing", {"args": ["echo run; exit 1"]}))
    got = await wait(client, "crashing", lambda it: (it.status.container_statuses or [_none()])[0].restart_count >= 3)
    assert got.status.phase == "Running"
    assert "Back-off restarting failed container c0" in await event(client, "crashing", "BackOff")
    assert await log(client, "crashing", previous=True) == ["run"]


@pytest.mark.promise("Pods as processes", "A container that crashes again and again does not fill the disk with logs.")
async def test_keeps_the_logs_of_two_runs(
    client: Client, start_node: StartNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # the folder of the node
    await start_node()
    await client.create(pod("looping", {"args": ["echo run; exit 1"]}))
    await wait(client, "looping", lambda it: (it.status.container_statuses or [_none()])[0].restart_count >= 4)
    assert len(glob.glob(f"{tmp_path}/**/logs/c0/*", recursive=True)) == 2


async def test_containers_have_restart_policies_of_their_own(client: Client, node: ProcessNode) -> None:
    once = {"args": ["exit 1"], "restartPolicy": "Never"}
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    ruled = {
        "args": ["test -e /data/x && exit 3; touch /data/x; exit 42"],
        "restartPolicy": "Never",
        "restartPolicyRules": [rule],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    await client.create(pod("mixed", once, ruled, {}, volumes=[{"name": "data", "emptyDir": {}}]))

    def ended(it: core.Pod) -> bool:
        states = [
            (each.restart_count, each.state and each.state.terminated) for each in it.status.container_statuses or ()
        ]
        return [(count, end.exit_code if end else None) for count, end in states] == [(0, 1), (1, 3), (0, None)]

    assert (await wait(client, "mixed", ended)).status.phase == "Running"


def _none() -> core.ContainerStatus:
    return core.ContainerStatus(name="", image="", image_id="", ready=False, restart_count=0)


async def test_does_not_restart_successful_containers_on_failure_only(client: Client, node: ProcessNode) -> None:
    args = ["test -e /data/x && exit 0; touch /data/x; exit 1"]
    mounts = [{"name": "data", "mountPath": "/data"}]
    made = pod("retried", {"args": args, "volumeMounts": mounts}, restartPolicy="OnFailure")
    made.spec.volumes = [core.Volume(name="data", empty_dir=core.EmptyDirVolumeSource())]
    await client.create(made)
    got = await phase(client, "retried", "Succeeded", "Failed")
    assert got.status.phase == "Succeeded"
    assert (got.status.container_statuses or [])[0].restart_count == 1


async def test_runs_init_containers_and_sidecars_in_order(client: Client, node: ProcessNode) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    init = [
        {"name": "first", "image": "sh", "args": ["echo first >>/data/log"], "volumeMounts": mounts},
        {
            "name": "sidecar",
            "image": "sh",
            "restartPolicy": "Always",
            "args": [
                "trap 'echo sidecar ends >>/data/log; exit 0' TERM; echo sidecar >>/data/log; touch /data/up; "
                "while :; do sleep 0.05; done"
            ],
            "startupProbe": {"exec": {"command": ["test", "-e", "/data/up"]}, "periodSeconds": 1, "timeoutSeconds": 60},
            "volumeMounts": mounts,
        },
        {"name": "second", "image": "sh", "args": ["echo second >>/data/log"], "volumeMounts": mounts},
    ]
    main = {"args": ["echo main >>/data/log; cat /data/log"], "volumeMounts": mounts}
    volumes = [{"name": "data", "emptyDir": {}}]
    await client.create(pod("ordered", main, initContainers=init, volumes=volumes, restartPolicy="Never"))
    got = await phase(client, "ordered", "Succeeded", "Failed")
    assert got.status.phase == "Succeeded"
    assert await log(client, "ordered", container="c0") == ["first", "sidecar", "second", "main"]
    assert [each.name for each in got.status.init_container_statuses or ()] == ["first", "sidecar", "second"]

    def sidecar_ended(it: core.Pod) -> bool:
        state = (it.status.init_container_statuses or [])[1].state
        return state is not None and state.terminated is not None and state.terminated.exit_code == 0

    await wait(client, "ordered", sidecar_ended)


async def test_failing_init_container_fails_the_pod(client: Client, node: ProcessNode) -> None:
    init = [{"name": "init", "image": "sh", "args": ["exit 4"]}]
    await client.create(pod("broken", {}, initContainers=init, restartPolicy="Never"))
    got = await phase(client, "broken", "Failed")
    assert (got.status.container_statuses or [])[0].state == core.ContainerState(
        waiting=core.ContainerStateWaiting(reason="PodInitializing")
    )


class TestProbes:
    async def test_readiness_follows_the_probe(self, client: Client, node: ProcessNode) -> None:
        probe = {"exec": {"command": ["test", "-e", "/data/ready"]}, "periodSeconds": 1, "timeoutSeconds": 60}
        container = {"readinessProbe": probe, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
        await client.create(pod("probed", container, volumes=[{"name": "data", "emptyDir": {}}]))
        await phase(client, "probed", "Running")
        assert "Readiness probe failed" in await event(client, "probed", "Unhealthy")
        assert not is_ready(await client.get(core.Pod, "probed"))
        assert (await client.exec("probed", ["touch", "/data/ready"])).exit_code == 0
        await wait(client, "probed", is_ready)
        await client.exec("probed", ["rm", "/data/ready"])
        await wait(client, "probed", lambda it: not is_ready(it))

    async def test_http_and_tcp_probes_reach_the_pod_address(self, client: Client, node: ProcessNode) -> None:
        server = """
import http.server as http, os
http.HTTPServer((os.environ["POD_IP"], 8080), http.SimpleHTTPRequestHandler).serve_forever()
"""
        container = {
            "image": "python",
            "args": [server],
            "ports": [{"name": "web", "containerPort": 8080}],
            "startupProbe": {
                "tcpSocket": {"port": 8080},
                "periodSeconds": 1,
                "failureThreshold": 100,
                "timeoutSeconds": 60,
            },
            "readinessProbe": {"httpGet": {"port": "web", "path": "/"}, "periodSeconds": 1, "timeoutSeconds": 60},
            "livenessProbe": {"httpGet": {"port": "web", "path": "/"}, "periodSeconds": 1, "timeoutSeconds": 60},
        }
        # Two replicas with one port: each listens on its own address.
        await client.create(pod("web-1", container))
        await client.create(pod("web-2", container))
        one, two = [await wait(client, name, is_ready) for name in ("web-1", "web-2")]
        assert one.status.pod_ip != two.status.pod_ip
        async with client.port_forward("web-1", 8080) as forward:
            assert forward.port

    async def test_failed_liveness_probe_restarts_the_container(self, client: Client, node: ProcessNode) -> None:
        probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 60}
        await client.create(pod("dying", {"livenessProbe": probe}))
        await wait(client, "dying", lambda it: (it.status.container_statuses or [_none()])[0].restart_count >= 1)
        assert "c0 failed liveness probe, will be restarted" in await event(client, "dying", "Killing")


class TestEnd:
    async def test_hook_then_sigterm_then_the_pod_is_gone(
        self, client: Client, node: ProcessNode, tmp_path: Path
    ) -> None:
        trace = tmp_path / "trace"
        container = {
            "args": [f"trap 'echo term >>{trace}; exit 0' TERM; echo up >>{trace}; while :; do sleep 0.05; done"],
            "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", f"echo hook >>{trace}"]}}},
        }
        await client.create(pod("ending", container))
        await until(lambda: trace.exists() and "up" in trace.read_text())
        await client.delete(core.Pod, "ending")
        await client.wait_until_gone(core.Pod, "ending")
        assert trace.read_text().split() == ["up", "hook", "term"]

    @pytest.mark.promise(
        "Pods as processes", "A pod that ignores SIGTERM is killed after its grace period, with all children."
    )
    async def test_kills_a_pod_that_forks_and_ignores_sigterm(self, client: Client, node: ProcessNode) -> None:
        program = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        break
print(os.getpid(), flush=True)
while True:
    signal.pause()
"""
        await client.create(pod("stubborn", {"image": "python", "args": [program]}))
        await wait(client, "stubborn", is_ready)

        async def pids() -> list[int] | None:
            found = [int(line) for line in await log(client, "stubborn")]
            return found if len(found) == 4 else None

        running = await until(pids)
        await client.delete(core.Pod, "stubborn", grace_period_seconds=1)
        await client.wait_until_gone(core.Pod, "stubborn")
        await until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in running), "the end of all processes")

    async def test_restarts_a_process_that_was_killed(self, client: Client, node: ProcessNode) -> None:
        await client.create(pod("killed", {"args": ["echo $$$$; exec sleep 1000"]}))
        await wait(client, "killed", is_ready)

        async def pid() -> int | None:
            lines = await log(client, "killed")
            return int(lines[0]) if lines else None

        os.kill(await until(pid), 9)
        got = await wait(
            client, "killed", lambda it: (it.status.container_statuses or [])[0].restart_count == 1 and is_ready(it)
        )
        last = (got.status.container_statuses or [])[0].last_state
        assert last is not None
        assert last.terminated is not None
        assert last.terminated.exit_code == 137

    async def test_active_deadline_fails_the_pod(self, client: Client, node: ProcessNode) -> None:
        await client.create(pod("late", {}, activeDeadlineSeconds=1, restartPolicy="Never"))
        assert (await phase(client, "late", "Failed")).status.reason == "DeadlineExceeded"


class TestRefusals:
    async def test_command_that_is_not_mapped_does_not_run(self, client: Client, node: ProcessNode) -> None:
        await client.create(pod("evil", {"command": ["touch", "/evil"]}))
        assert "does not allow the command 'touch' of a pod" in await event(client, "evil", "Failed")
        got = await wait(client, "evil", lambda it: it.status.container_statuses)
        state = (got.status.container_statuses or [])[0].state
        assert state is not None
        assert state.waiting is not None
        assert state.waiting.reason == "CreateContainerConfigError"
        await client.delete(core.Pod, "evil")
        await client.wait_until_gone(core.Pod, "evil")

    async def test_guarded_variable_is_refused(self, client: Client, node: ProcessNode) -> None:
        await client.create(pod("preload", {"env": [{"name": "LD_PRELOAD", "value": "/evil.so"}]}))
        assert "does not allow the variable LD_PRELOAD" in await event(client, "preload", "Failed")

    async def test_exec_is_refused(self, client: Client, start_node: StartNode) -> None:
        await start_node(Images({"sh": {"command": ["/bin/sleep", "1000"], "allow_exec": ["cat"]}}))
        await client.create(pod("closed", {}))
        await wait(client, "closed", is_ready)
        assert (await client.exec("closed", ["cat", "/dev/null"])).exit_code == 0
        with pytest.raises(ApiError, match="does not allow to execute 'sh'"):
            await client.exec("closed", ["sh"])

    async def test_unmapped_image_is_simulated(self, client: Client, node: ProcessNode) -> None:
        await client.create(pod("simulated", {"image": "nginx:1.27"}))
        await wait(client, "simulated", is_ready)
        assert '"nginx:1.27"; the pod is simulated' in await event(client, "simulated", "ImageNotMapped")

    async def test_waits_for_a_missing_reference(self, client: Client, node: ProcessNode) -> None:
        env = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "later", "key": "x"}}}]
        await client.create(pod("waiting", {"args": ["echo $X"], "env": env}, restartPolicy="Never"))
        assert 'secret "later" not found' in await event(client, "waiting", "Failed")
        await client.create(core.Secret(metadata=ObjectMeta(name="later"), data={"x": b"here"}))
        await phase(client, "waiting", "Succeeded")
        assert await log(client, "waiting") == ["here"]

    async def test_reports_what_is_not_honored(self, client: Client, node: ProcessNode) -> None:
        limits = {"resources": {"limits": {"cpu": "1", "memory": "64Mi", "ephemeral-storage": "1Gi"}}}
        await client.create(pod("limited", limits, hostAliases=[{"ip": "127.0.0.9", "hostnames": ["x"]}]))
        text = await event(client, "limited", "NotHonored")
        listed = "hostAliases, resources.limits.cpu, resources.limits.ephemeral-storage"
        assert text == f"not honored by process nodes: {listed}"

    async def test_reports_settings_of_mounts_that_are_not_honored(self, client: Client, node: ProcessNode) -> None:
        mounts = [
            {"name": "data", "mountPath": "/data/one", "mountPropagation": "HostToContainer"},
            {"name": "data", "mountPath": "/data/two", "readOnly": True, "recursiveReadOnly": "IfPossible"},
        ]
        volumes = [{"name": "data", "emptyDir": {}}]
        await client.create(pod("mounts", {"volumeMounts": mounts}, volumes=volumes, setHostnameAsFQDN=True))
        text = await event(client, "mounts", "NotHonored")
        listed = "setHostnameAsFQDN, volumeMounts.mountPropagation, volumeMounts.recursiveReadOnly"
        assert text == f"not honored by process nodes: {listed}"

    async def test_remote_server_is_refused(self) -> None:
        remote = Client(load_config(server="https://10.0.0.1:6443"))
        with pytest.raises(RemoteServerError, match=r"the API server 10\.0\.0\.1 is not on this machine"):
            ProcessNode(remote, Images())
        assert ProcessNode(remote, Images({"sh": SHELL}), allow_remote=True).name == "process-node"
        await remote.close()


async def test_streams_of_a_pod(client: Client, node: ProcessNode) -> None:
    await client.create(pod("stream", {"args": ["while read line; do echo got $line; done"], "stdin": True}))
    await wait(client, "stream", is_ready)
    result = await client.exec("stream", ["sh", "-c", "echo $HOSTNAME; exit 5"])
    assert (result.exit_code, result.stdout) == (5, b"stream\n")
    async with client.attach("stream", stdin=True) as session:
        await session.write(b"one\n")
        async for output in session:
            assert output.data == b"got one\n"
            break
    assert await log(client, "stream") == ["got one"]


async def test_runs_ephemeral_containers(client: Client, node: ProcessNode) -> None:
    await client.create(pod("debugged", {}))
    await wait(client, "debugged", is_ready)
    got = await client.get(core.Pod, "debugged")
    got.spec.ephemeral_containers = [core.EphemeralContainer(name="debugger", image="sh", args=["echo debugging"])]
    await client.update(got, subresource="ephemeralcontainers")

    def ended(it: core.Pod) -> bool:
        states = [each.state for each in it.status.ephemeral_container_statuses or ()]
        return any(state is not None and state.terminated is not None for state in states)

    await wait(client, "debugged", ended)
    assert await log(client, "debugged", container="debugger") == ["debugging"]


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
async def test_runs_as_the_user_of_the_pod(client: Client, node: ProcessNode) -> None:
    context = {"runAsUser": 12345, "runAsGroup": 23456, "fsGroup": 34567}
    await client.create(pod("user", {"args": ["id"]}, securityContext=context, restartPolicy="Never"))
    await phase(client, "user", "Succeeded")
    assert "uid=12345 gid=23456 groups=23456,34567" in (await log(client, "user"))[0]


async def test_leaves_the_status_of_a_pod_that_replaced_another_one(client: Client, namespace: str) -> None:
    first = await client.create(pod("same-name", {}))
    await client.delete(first, grace_period_seconds=0)
    second = await client.create(pod("same-name", {}))
    assert await write_status(client, first, {"phase": "Failed"}) is None
    assert (await client.get(core.Pod, "same-name")).status.phase == second.status.phase
