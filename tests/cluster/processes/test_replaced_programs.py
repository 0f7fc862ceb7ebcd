"""Volumes cannot replace programs: the mapping of images says what runs, never the content of an object."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import Client
from kubewright.cluster.processes import Image, Images
from tests.cluster.processes.conftest import StartNode, log, phase, pod, wait

pytestmark = [
    pytest.mark.clusters("embedded"),  # the node alone decides
    pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces need root or bubblewrap"),
]

SCRIPT = "#!/bin/sh\necho of the volume\n"
VOLUMES = [{"name": "config", "configMap": {"name": "config", "defaultMode": 0o755}}]


@pytest.fixture
async def program(client: Client, namespace: str, tmp_path: Path) -> Path:
    """A program of the administrator in a folder, and the ConfigMap `config` with other content for it."""
    made = tmp_path / "app" / "program"
    made.parent.mkdir()
    made.write_text("#!/bin/sh\necho of the mapping; cat /config/program 2>/dev/null; exit 0\n")
    made.chmod(0o755)
    data = {"program": SCRIPT}
    await client.create(core.ConfigMap(metadata=ObjectMeta(name="config", namespace=namespace), data=data))
    return made


def mounting(path: Path | str, **more: Any) -> dict[str, Any]:
    return {"image": "app", "volumeMounts": [{"name": "config", "mountPath": str(path), **more}]}


async def refusals(client: Client, name: str, count: int) -> list[str]:
    """Waits until so many containers wait for the administrator, and returns why."""

    def messages(got: core.Pod) -> list[str]:
        states = [each.state.waiting for each in got.status.container_statuses or () if each.state is not None]
        return [state.message or "" for state in states if state and state.reason == "CreateContainerConfigError"]

    return messages(await wait(client, name, lambda got: len(messages(got)) == count))


@pytest.mark.promise("Pods as processes", "A volume does not replace the program of an image, or what it loads.")
async def test_volumes_over_programs_are_refused(client: Client, start_node: StartNode, program: Path) -> None:
    images = {"app": Image(command=[str(program)]), "python": Image(command=[sys.executable, "-m", "this"])}
    await start_node(Images(images))
    places: list[Path | str] = [
        program.parent,
        program.parent.parent,
        "/usr/bin",
        "/bin/new",
        "/usr",
        "/etc",
        "/usr/lib/python3/x",
    ]
    containers = [mounting(place) for place in places]
    containers.append(mounting(program, subPath="program"))
    containers.append(mounting("/etc/ld.so.preload", subPath="program"))
    containers.append(mounting(f"{sys.prefix}/lib/new") | {"image": "python"})
    containers.append({"image": "app", "terminationMessagePath": "/usr/bin/new"})
    await client.create(pod("replacing", *containers, volumes=VOLUMES))
    found = await refusals(client, "replacing", len(containers))
    assert all("does not allow a volume at /" in each and "set allow_command for it" in each for each in found)
    assert f'image "app" does not allow a volume at {program}, which would replace or hide programs' in found[7]


async def test_content_of_objects_is_not_the_working_directory(
    client: Client, start_node: StartNode, program: Path, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    image = Image(command=["/bin/true"], directory=str(tmp_path / "work"))
    await start_node(Images({"app": image}))
    containers = [mounting("/config") | {"workingDir": "/config"}, mounting(tmp_path / "work" / "module")]
    await client.create(pod("working", *containers, volumes=VOLUMES))
    found = await refusals(client, "working", len(containers))
    assert "does not allow the workingDir /config, whose files are the content of objects" in found[0]
    assert f"does not allow a volume at {tmp_path}/work/module" in found[1]


async def test_volumes_elsewhere_are_mounted(client: Client, start_node: StartNode, program: Path) -> None:
    await start_node(Images({"app": Image(command=[str(program)], keep=[str(program.parent)])}))
    mounts = [{"name": "config", "mountPath": "/config"}, {"name": "empty", "mountPath": str(program.parent.parent)}]
    empty = {"name": "empty", "emptyDir": {}}
    container = {"image": "app", "volumeMounts": mounts, "workingDir": str(program.parent.parent)}
    await client.create(pod("beside", container, volumes=[*VOLUMES, empty], restartPolicy="Never"))
    await phase(client, "beside", "Succeeded", "Failed")
    assert await log(client, "beside") == ["of the mapping", *SCRIPT.splitlines()]


async def test_images_with_any_command_have_no_such_limits(
    client: Client, start_node: StartNode, program: Path
) -> None:
    await start_node(Images({"app": Image(command=[str(program)], allow_command=True)}))
    container = mounting(program, subPath="program")
    await client.create(pod("replaced", container, volumes=VOLUMES, restartPolicy="Never"))
    await phase(client, "replaced", "Succeeded", "Failed")
    assert await log(client, "replaced") == ["of the volume"]


async def test_python_imports_nothing_from_the_home_of_a_pod(client: Client, start_node: StartNode) -> None:
    await start_node()
    container = {"args": ["echo $PYTHONNOUSERSITE $HOME"], "env": [{"name": "HOME", "value": "/config"}]}
    await client.create(pod("home", container, restartPolicy="Never"))
    await phase(client, "home", "Succeeded", "Failed")
    assert await log(client, "home") == ["1 /config"]
