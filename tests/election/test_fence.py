"""No write of an old leader is begun: the fence, and clients behind it."""

from __future__ import annotations

import asyncio
import random
import time as system_time
from collections.abc import Callable

import pytest

from kubewright.api import ObjectMeta
from kubewright.api.core.v1 import ConfigMap
from kubewright.client import Client, ConnectionLost, Request, Response, RetryPolicy
from kubewright.clock import VirtualClock
from kubewright.election import BootClock, Fence, FencedTransport, NotLeader
from tests.election.processes import LeaseServer, Process
from tests.transports.scripted import ScriptedResponse

Make = Callable[..., Process]


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns"))


def fence_of(time: VirtualClock) -> Fence:
    return Fence("ns/lead", time, validity=10, margin=5)


class Scripted:
    """A transport that plays a script, and notes what it was asked to send."""

    def __init__(self, *script: Callable[[Request], ScriptedResponse]) -> None:
        self.script = list(script)
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        return self.script.pop(0)(request)

    async def close(self) -> None:
        raise AssertionError("the connections are not the fenced client's to close")


def made(_: Request) -> ScriptedResponse:
    return ScriptedResponse(201, {"metadata": {"name": "x"}})


def busy(_: Request) -> ScriptedResponse:
    return ScriptedResponse(429, {"code": 429, "reason": "TooManyRequests"})


def silent(_: Request) -> ScriptedResponse:
    raise TimeoutError


def behind(fence: Fence, inner: Scripted, time: VirtualClock) -> Client:
    client = Client(
        transport=inner, clock=time, rng=random.Random(1), retry=RetryPolicy(first_delay=8, longest_delay=8)
    )
    return client.through(lambda transport: FencedTransport(transport, fence))


async def test_a_fence_is_open_for_the_renew_deadline_from_the_start_of_the_last_renewal(time: VirtualClock) -> None:
    fence = fence_of(time)
    assert fence.remaining == 0
    await time.advance(3)
    assert fence.renewed(began=1)
    assert fence.remaining == 8
    await time.advance(2)
    assert fence.renewed(began=4)
    assert fence.remaining == 9
    await time.advance(9)
    assert fence.remaining == 0


async def test_closed_fence_never_opens_again(time: VirtualClock) -> None:
    fence = fence_of(time)
    fence.renewed(began=0)
    await time.advance(10)
    assert not fence.renewed(began=9.9)
    assert not fence.renewed(began=10)
    assert fence.remaining == 0
    closed = fence_of(time)
    closed.close("it was stopped")
    assert not closed.renewed(began=10)
    assert closed.remaining == 0


async def test_a_renewal_whose_answer_took_longer_than_it_counts_opens_nothing_but_spoils_nothing(
    time: VirtualClock,
) -> None:
    fence = fence_of(time)
    await time.advance(20)
    assert not fence.renewed(began=5)
    assert fence.renewed(began=19)


async def test_late_report_of_an_older_renewal_does_not_shorten_it(time: VirtualClock) -> None:
    fence = fence_of(time)
    await time.advance(5)
    fence.renewed(began=5)
    fence.renewed(began=1)
    assert fence.remaining == 10


async def test_writes_are_refused_with_the_reason_and_reads_pass(time: VirtualClock) -> None:
    fence, inner = fence_of(time), Scripted(made, made)
    client = behind(fence, inner, time)
    with pytest.raises(
        NotLeader, match=r"^create configmaps ns/x: not sent, because this process does not lead ns/lead: "
    ):
        await client.create(config_map("x"))
    with pytest.raises(NotLeader, match="it has not been elected"):
        await client.delete(ConfigMap, "x", "ns")
    await client.get(ConfigMap, "x", "ns")
    fence.renewed(began=0)
    await time.advance(12.5)
    with pytest.raises(NotLeader, match=r"last renewed 12\.5s ago, and a renewal is valid for 10s") as caught:
        await client.apply(config_map("x"))
    assert not caught.value.sent
    fence.close("b holds the lease now")
    with pytest.raises(NotLeader, match="b holds the lease now"):
        await client.replace(config_map("x"))
    await client.get(ConfigMap, "x", "ns")
    assert [request.method for request in inner.requests] == ["GET", "GET"]


async def test_write_has_no_more_time_than_the_lease(time: VirtualClock) -> None:
    fence, inner = fence_of(time), Scripted(made, made)
    client = behind(fence, inner, time)
    fence.renewed(began=0)
    await time.advance(7)
    await client.create(config_map("x"))
    await client.get(ConfigMap, "x", "ns")
    assert [request.timeout for request in inner.requests] == [3, 60]


async def test_write_that_outlives_the_lease_may_have_happened(time: VirtualClock) -> None:
    fence = fence_of(time)
    fence.renewed(began=0)
    with pytest.raises(NotLeader, match="no answer before lease ns/lead expired; it may have happened") as caught:
        await behind(fence, Scripted(silent), time).create(config_map("x"))
    assert caught.value.sent


async def test_the_fence_is_asked_before_each_retry(time: VirtualClock) -> None:
    fence, inner = fence_of(time), Scripted(*[busy] * 9)
    fence.renewed(began=0)
    with pytest.raises(NotLeader, match=r"create configmaps ns/x: not sent"):
        await time.run(behind(fence, inner, time).create(config_map("x")))
    assert len(inner.requests) == 2  # one at once, one after some 4.5 s; the third would have come too late
    assert time.monotonic() > 10


async def test_a_renewal_between_two_attempts_gives_the_second_its_time(time: VirtualClock) -> None:
    fence, inner = fence_of(time), Scripted(busy, made)
    fence.renewed(began=0)
    time.call_later(2, lambda: fence.renewed(began=2))
    await time.run(behind(fence, inner, time).create(config_map("x")))
    first, second = (request.timeout for request in inner.requests)
    assert first == 10
    assert second == pytest.approx(12 - time.monotonic())


async def test_the_fence_is_asked_once_more_in_the_last_moment(time: VirtualClock) -> None:
    sent: list[str] = []

    class Slow(Scripted):
        """Asks for credentials first, which takes its time, as an exec plugin does."""

        async def send(self, request: Request) -> Response:
            await time.sleep(11)  # of the virtual clock
            assert request.before_send is not None
            request.before_send()
            sent.append(str(request))
            return made(request)

    fence = fence_of(time)
    fence.renewed(began=0)
    with pytest.raises(NotLeader, match="not sent"):
        await time.run(behind(fence, Slow(), time).create(config_map("x")))
    assert sent == []
    assert fence.settled


async def test_fenced_client_belongs_to_one_term(server: LeaseServer, time: VirtualClock, process: Make) -> None:
    a = process("a")
    async with a.elector() as first:
        await time.run(first.wait_for_leadership())
        old = first.fence()
        a.cut = True
        await time.advance(12)
        a.cut = False
    async with a.elector() as second:
        await time.run(second.wait_for_leadership())
        with pytest.raises(NotLeader):
            await old.create(config_map("x"))
        await second.fence(a.client()).create(config_map("x"))


async def test_a_paused_leader_wakes_to_a_closed_fence(server: LeaseServer, time: VirtualClock, process: Make) -> None:
    a = process("a")
    async with a.elector() as leader, process("b").elector() as standby:
        await time.run(leader.wait_for_leadership())
        client = leader.fence()
        await client.create(config_map("before"))
        a.pause()
        await time.run(standby.wait_for_leadership())
        # Nothing has notified it, and a flag would still be set.
        assert leader.status.state == "standby"
        assert not leader.status.reason
        with pytest.raises(NotLeader):
            await client.create(config_map("after"))
        a.resume()
        assert ("ns", "after") not in server.objects


# Giving the lease back


async def test_the_lease_is_given_back_after_the_writes_that_are_under_way(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    a = process("a")
    async with a.elector() as leader:
        await time.run(leader.wait_for_leadership())
        a.latency = 1.5
        write = asyncio.create_task(leader.fence().create(config_map("x")))
        await time.advance(0)
        a.latency = 0
        stop = asyncio.create_task(leader.stop())
        await time.advance(2.9)
        assert server.lease()["spec"]["holderIdentity"] == "a"
        assert not stop.done()
        with pytest.raises(NotLeader, match="it was stopped"):
            await leader.fence().create(config_map("y"))
        await time.advance(0.2)
        assert write.done()
        assert server.lease()["spec"]["holderIdentity"] == ""
        await stop


async def test_a_lease_is_left_to_expire_while_a_write_may_still_happen(
    server: LeaseServer, time: VirtualClock, process: Make, caplog: pytest.LogCaptureFixture
) -> None:
    a = process("a")
    async with a.elector() as leader:
        await time.run(leader.wait_for_leadership())
        a.latency = 3
        write = asyncio.create_task(leader.fence().create(config_map("x")))
        await time.advance(1)
        write.cancel()
        await time.run(leader.stop())
    assert server.lease()["spec"]["holderIdentity"] == "a"
    assert "lease ns/lead is left to expire: the outcome of some writes is unknown" in caplog.text


async def test_a_write_that_never_left_does_not_keep_the_lease(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    def refused(_: Request) -> ScriptedResponse:
        raise ConnectionLost("cannot connect", sent=False)

    async with process("a").elector() as leader:
        await time.run(leader.wait_for_leadership())
        client = Client(transport=Scripted(refused), clock=time, retry=RetryPolicy(attempts=1))
        with pytest.raises(Exception, match="cannot connect"):
            await leader.fence(client).create(config_map("x"))
    assert server.lease()["spec"]["holderIdentity"] == ""


async def test_lost_response_delays_the_release_until_the_write_must_be_over(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    def lost(_: Request) -> ScriptedResponse:
        raise ConnectionLost("reset", sent=True)

    async with process("a").elector() as leader:
        await time.run(leader.wait_for_leadership())
        client = Client(transport=Scripted(lost), clock=time, retry=RetryPolicy(attempts=1))
        with pytest.raises(Exception, match="reset"):
            await leader.fence(client).create(config_map("x"))
        await time.advance(5)
    assert server.lease()["spec"]["holderIdentity"] == ""


def test_boot_clock_includes_suspended_time() -> None:
    before = system_time.clock_gettime(system_time.CLOCK_BOOTTIME)
    assert before <= BootClock().monotonic() <= system_time.clock_gettime(system_time.CLOCK_BOOTTIME)
