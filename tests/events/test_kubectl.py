"""What people see: the real kubectl shows events of both versions alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubewright.api import core
from kubewright.events import EventRecorder
from kubewright.testing import ControlPlane

Kubectl = Callable[..., Awaitable[list[str]]]


@pytest.fixture
def kubectl(control_plane: ControlPlane, namespace: str) -> Kubectl:
    async def call(*arguments: str) -> list[str]:
        process = await asyncio.create_subprocess_exec(
            control_plane.binaries / "kubectl", "--kubeconfig", control_plane.kubeconfig, "-n", namespace, *arguments,
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, _ = await process.communicate()
        assert process.returncode == 0
        return output.decode().splitlines()

    return call


@pytest.fixture(params=["events.k8s.io/v1", "v1"])
async def either(
    request: pytest.FixtureRequest, recorder: EventRecorder, core_recorder: EventRecorder
) -> EventRecorder:
    return recorder if request.param == "events.k8s.io/v1" else core_recorder


@pytest.mark.promise(
    "Watching an operator",
    "Events say who did what; repeated ones are a series; kubectl shows both versions alike.",
)
async def test_describe_shows_type_reason_component_message_and_how_often(
    kubectl: Kubectl, either: EventRecorder, subject: core.ConfigMap
) -> None:
    either.record(subject, "Synced", "Subject synced successfully")
    either.record(subject, "ErrResourceExists", 'Resource "web" already exists', type="Warning")
    await either.flush()
    for _ in range(2):
        either.record(subject, "Synced", "Subject synced successfully")
        await either.flush()
    output = await kubectl("describe", "configmap", "subject")
    lines = [line.split() for line in output[-2:]]
    shown = {line[1]: line for line in lines}
    assert shown["ErrResourceExists"][0] == "Warning"
    assert shown["ErrResourceExists"][3:] == ["test-controller", "Resource", '"web"', "already", "exists"]
    assert shown["Synced"][0] == "Normal"
    assert shown["Synced"][3:5] == ["(x3", "over"]
    assert shown["Synced"][6:] == ["test-controller", "Subject", "synced", "successfully"]


@pytest.mark.promise(
    "Watching an operator",
    "Events say who did what; repeated ones are a series; kubectl shows both versions alike.",
)
async def test_get_events_selects_them_by_their_object(
    kubectl: Kubectl, either: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    secret = core.ObjectReference(api_version="v1", kind="Secret", name="other", namespace=namespace)
    either.record(subject, "Synced", "Subject synced successfully")
    either.record(secret, "Seen", "a secret")
    await either.flush()
    output = await kubectl("get", "events", "--no-headers", "--field-selector", "involvedObject.kind=ConfigMap")
    [line] = [line.split(None, 4) for line in output]
    assert line[1:] == ["Normal", "Synced", "configmap/subject", "Subject synced successfully"]
    output = await kubectl("get", "events", "--no-headers", "--field-selector", "reason=Seen,involvedObject.name=other")
    assert [line.split()[3] for line in output] == ["secret/other"]


async def test_kubectl_events_shows_them_for_an_object(
    kubectl: Kubectl, either: EventRecorder, subject: core.ConfigMap
) -> None:
    for _ in range(2):
        either.record(subject, "Synced", "Subject synced successfully")
        await either.flush()
    output = await kubectl("events", "--for", "configmap/subject", "--no-headers")
    [line] = output
    assert "(x2 over" in line
    assert line.endswith("Subject synced successfully")
