"""Requests are counted by status and method, and are attributed to their reconcile."""

from __future__ import annotations

import pytest

from kubewright.client import Client, ConnectionLost, RetryPolicy, Unavailable
from kubewright.clock import VirtualClock
from kubewright.controller import BlockingContext
from kubewright.observe import RequestStats
from kubewright.operator import Operator
from tests.controller.conftest import Thing, ThingStatus, key, thing, working
from tests.observe.conftest import Agreeable
from tests.patience import until
from tests.transports.disturbed import Disturbed, NoServer


@pytest.mark.promise(
    "Watching an operator",
    "Results, bugs, timeouts and requests by status are counted.",
)
async def test_counts_each_attempt_by_response_status(clock: VirtualClock, server: Agreeable) -> None:
    stats = RequestStats("kubernetes.example:6443")
    client = Client(transport=server, clock=clock).with_hooks(stats)
    server.answers = [503, 200]
    await clock.run(client.get(Thing, "one", "default"))
    await client.create(thing("two"))
    assert stats.counts == {("503", "GET"): 1, ("200", "GET"): 1, ("200", "POST"): 1}
    assert stats.retries == {("200", "GET"): 1}
    assert {method: durations.snapshot().count for method, durations in stats.durations.items()} == {
        "GET": 2,
        "POST": 1,
    }


async def test_counts_request_without_response_as_error(clock: VirtualClock) -> None:
    stats = RequestStats()
    lost = Disturbed(NoServer(), ConnectionLost("no answer", sent=False))
    client = Client(transport=lost, clock=clock, retry=RetryPolicy(attempts=1)).with_hooks(stats)
    with pytest.raises(Unavailable):
        await client.get(Thing, "one", "default")
    assert stats.counts == {("<error>", "GET"): 1}


async def test_does_not_count_unsent_request(clock: VirtualClock) -> None:
    stats = RequestStats()
    refusing = Disturbed(NoServer(), PermissionError("not while another one leads"))
    with pytest.raises(PermissionError):
        await Client(transport=refusing, clock=clock).with_hooks(stats).get(Thing, "one", "default")
    assert not stats.counts


async def test_adding_hooks_keeps_existing_ones(server: Agreeable) -> None:
    first, second = RequestStats(), RequestStats()
    client = Client(transport=server, hooks=[first])
    await client.with_hooks(second).get(Thing, "one", "default")
    await client.get(Thing, "one", "default")
    assert (sum(first.counts.values()), sum(second.counts.values())) == (2, 1)


async def test_writes_of_a_thread_belong_to_its_reconcile(
    operator: Operator, clock: VirtualClock, server: Agreeable
) -> None:
    @operator.reconciles(Thing)
    def sync(obj: Thing, ctx: BlockingContext[Thing]) -> None:
        ctx.set_status(ThingStatus(ready=7))

    async with working(operator, clock, transport=server) as stage:
        stage.put(thing())
        await until(lambda: stage.controller.inspect(key()).results)
        [result] = stage.controller.inspect(key()).results
    assert [(write.verb, write.name) for write in result.writes] == [("apply", "one")]
    assert server.requests[0].headers["traceparent"].split("-")[1] == result.trace
