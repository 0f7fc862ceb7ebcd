"""How an operator tells that another program undoes what it applies, on both clusters."""

from __future__ import annotations

import logging

import pytest

from kubewright.api import core, meta
from kubewright.client import Client, MergePatch
from kubewright.controller import Contested, Context
from kubewright.operator import Operator
from tests.operator.conftest import Calls, events, install, until
from tests.operator.test_context import Box, box, definition

pytestmark = pytest.mark.clusters


@pytest.fixture(autouse=True)
async def definitions(client: Client) -> None:
    await install(client, definition("Box", "boxes", subresource=True))


async def test_a_contest_is_one_warning_and_one_event_and_ends_the_writing(
    calls: Calls, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    operator = Operator("box-operator", namespaces=[namespace])
    refused: list[Contested] = []

    @operator.reconciles(Box, owns=[core.ConfigMap])
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        try:
            await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="child"), data={"a": "1"}))
        except Contested as error:
            refused.append(error)
            raise
        await client.patch(core.ConfigMap, "child", MergePatch({"data": {"a": "theirs"}}), namespace)

    async with operator.running(calls.client, install_crds=False):
        await client.create(box(namespace))
        [event] = await until(lambda: events(client, namespace, "Contested"))
    assert event.involved_object.kind == "Box"
    assert "sets data.a otherwise each time" in (event.message or "")
    told = [record for record in caplog.records if record.name.startswith("kubewright.controller")]
    assert [record.getMessage() for record in told if record.levelno >= logging.WARNING] == [
        f"Box {namespace}/one: {refused[0]}"
    ]
    applies = [write for write in calls.writes() if "configmaps" in write]
    # Created, then read and made an apply once, then put back.
    assert len(applies) == 1 + 1 + 5
