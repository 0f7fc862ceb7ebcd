"""The termination message of a pod never shows or changes another file of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewright.api import core
from kubewright.client import Client
from kubewright.cluster.processes import MountMode, ProcessNode
from tests.cluster.processes.conftest import StartNode, phase, pod, wait

pytestmark = pytest.mark.clusters("embedded")  # the node alone decides


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[Path]:
    """A file of this machine that pods must not see through the node."""
    file = tmp_path / "secret"
    file.write_text("of the host")
    yield file
    assert file.read_text() == "of the host"


def ends(got: core.Pod) -> list[tuple[int, str | None]]:
    """Returns the exit codes and messages of containers that ended."""
    states = [each.state.terminated for each in got.status.container_statuses or () if each.state is not None]
    return [(state.exit_code, state.message) for state in states if state is not None]


@pytest.mark.promise(
    "Pods as processes", "A termination message is at most 4096 bytes of a regular file; links to it are not followed."
)
async def test_does_not_follow_what_a_pod_puts_in_place_of_the_file(
    client: Client, start_node: StartNode, secret: Path
) -> None:
    await start_node(mounts="none")  # the file is in a folder that the program can change
    replace = "file=$(readlink -f $KUBEWRIGHT_POD_ROOT/dev/termination-log); rm $file; "
    scripts = [f"ln -s {secret} $file", "ln -s /dev/zero $file", "mkfifo $file", "mkdir $file", "exit 7"]
    containers = [{"args": [f"{replace}{script} && exit 3"]} for script in scripts]
    await client.create(pod("hostile", *containers, restartPolicy="Never"))
    got = await phase(client, "hostile", "Failed")
    assert ends(got) == [(3, None), (3, None), (3, None), (3, None), (7, None)]


async def test_bounds_the_message(client: Client, node: ProcessNode) -> None:
    script = "head -c 100000 /dev/zero | tr '\\0' x >/dev/termination-log; exit 3"
    await client.create(pod("long", {"args": [script]}, restartPolicy="Never"))
    assert ends(await phase(client, "long", "Failed")) == [(3, "x" * 4096)]


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        pytest.param(
            "namespace",
            "cannot start namespaces: Too many levels of symbolic links",
            marks=pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces need root"),
        ),
        ("none", "is in another volume, which needs a mount namespace"),
    ],
)
async def test_refuses_a_path_that_is_a_link_in_a_volume(
    client: Client, start_node: StartNode, secret: Path, mode: MountMode, message: str
) -> None:
    await start_node(mounts=mode)
    mounts = [{"name": "data", "mountPath": "/data"}]
    folder = "$KUBEWRIGHT_POD_ROOT/data" if mode == "none" else "/data"
    links = f"ln -s {secret} {folder}/existing; ln -s {secret}-missing {folder}/dangling"
    init = {"name": "evil", "image": "sh", "args": [links], "volumeMounts": mounts}
    containers = [
        {"args": [":"], "terminationMessagePath": f"/data/{name}", "volumeMounts": mounts}
        for name in ("existing", "dangling")
    ]
    volumes = [{"name": "data", "emptyDir": {}}]
    await client.create(pod("linked", *containers, initContainers=[init], volumes=volumes, restartPolicy="Never"))

    def refusals(it: core.Pod) -> list[str]:
        states = [each.state for each in it.status.container_statuses or () if each.state is not None]
        shown = [state.waiting or state.terminated for state in states]
        return [each.message or "" for each in shown if each is not None and message in (each.message or "")]

    await wait(client, "linked", lambda it: len(refusals(it)) == 2)
    assert os.listdir(secret.parent) == [secret.name]
