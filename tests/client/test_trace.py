from __future__ import annotations

import asyncio
import random
import re
from typing import Any

import pytest

from kubewright.api import core
from kubewright.client import Client, Trace, current_trace

NODE = (200, b'{"metadata":{"name":"n"}}')


def test_ids_are_those_of_w3c_and_stay_the_same() -> None:
    trace = Trace(random.Random(1))
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", trace.traceparent)
    assert trace.traceparent == trace.traceparent
    assert str(trace) == trace.trace_id
    assert Trace(random.Random(1)).trace_id == trace.trace_id != Trace(random.Random(2)).trace_id


@pytest.mark.promise(
    "What a reconciler works with",
    "Each reconcile has a trace, which its requests and log records carry.",
)
async def test_requests_carry_the_trace_that_is_current(scripted: Any) -> None:
    server = scripted(NODE, NODE, NODE)
    client, trace = Client(transport=server), Trace(random.Random(1))
    await client.get(core.Node, "n")
    with trace.current():
        assert current_trace() is trace
        await asyncio.create_task(client.get(core.Node, "n"))
    assert current_trace() is None
    await client.get(core.Node, "n")
    sent = [request.headers.get("traceparent") for request in server.requests]
    assert sent == [None, trace.traceparent, None]
