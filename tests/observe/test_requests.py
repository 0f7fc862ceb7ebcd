"""Requests are counted by answer and method, and each finds the reconcile that it belongs to."""

from __future__ import annotations

import pytest

from kubewright.client import Client, ConnectionLost, Request, Response, RetryPolicy, Unavailable
from kubewright.clock import VirtualClock
from kubewright.controller import BlockingContext
from kubewright.observe import RequestStats
from kubewright.operator import Operator
from tests.controller.conftest import Thing, ThingStatus, key, thing, working
from tests.observe.conftest import Agreeable
from tests.patience import until


@pytest.mark.promise(
    "Watching an operator",
    "Results, bugs, timeouts and requests by status are counted.",
)
async def test_each_attempt_is_counted_by_its_answer(clock: VirtualClock, server: Agreeable) -> None:
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


async def test_a_request_without_an_answer_is_an_error_of_no_status(clock: VirtualClock) -> None:
    class NoServer:
        async def send(self, request: Request) -> Response:
            raise ConnectionLost("no answer", sent=False)

        async def close(self) -> None: ...

    stats = RequestStats()
    client = Client(transport=NoServer(), clock=clock, retry=RetryPolicy(attempts=1)).with_hooks(stats)
    with pytest.raises(Unavailable):
        await client.get(Thing, "one", "default")
    assert stats.counts == {("<error>", "GET"): 1}


async def test_a_request_that_is_not_sent_does_not_count(clock: VirtualClock) -> None:
    class Forbidding:
        async def send(self, request: Request) -> Response:
            raise PermissionError("not while another one leads")

        async def close(self) -> None: ...

    stats = RequestStats()
    with pytest.raises(PermissionError):
        await Client(transport=Forbidding(), clock=clock).with_hooks(stats).get(Thing, "one", "default")
    assert not stats.counts


async def test_the_hooks_of_a_client_stay_when_others_are_added(server: Agreeable) -> None:
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
