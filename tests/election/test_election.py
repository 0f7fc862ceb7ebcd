"""Electing, handing over, losing: on virtual time, with real clients and a cluster in memory."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import ObjectMeta
from kubewright.api.core.v1 import ConfigMap
from kubewright.clock import VirtualClock
from kubewright.election import ElectionEvent, LeaderElector, NotLeader
from tests.election.processes import LeaseServer, Process
from tests.transports.scripted import ScriptedResponse

Make = Callable[..., Process]


async def leads(time: VirtualClock, elector: LeaderElector) -> float:
    """Wait until it leads; the virtual seconds that it took."""
    began = time.monotonic()
    await time.run(elector.wait_for_leadership(), limit=3600)
    return time.monotonic() - began


def kinds(process: Process) -> list[str]:
    return [f"{event.kind} {event.leader}" for event in process.events]


# One candidate


async def test_first_candidate_creates_the_lease_and_leads_immediately(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    async with process("a").elector() as elector:
        assert await leads(time, elector) == 0
        assert elector.is_leader
        assert elector.leader == "a"
        assert server.lease()["spec"] == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "2030-01-01T00:00:00.000000Z",
            "renewTime": "2030-01-01T00:00:00.000001Z",
            "leaseTransitions": 0,
        }


async def test_a_leader_renews_every_retry_period_and_keeps_its_acquire_time(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    async with process("a").elector() as elector:
        await leads(time, elector)
        await time.advance(3600)
        assert elector.is_leader
        assert elector.status.renewals == 1800
        spec = server.lease()["spec"]
        assert spec["acquireTime"] == "2030-01-01T00:00:00.000000Z"
        assert spec["renewTime"] == "2030-01-01T01:00:00.000000Z"
        assert spec["leaseTransitions"] == 0


async def test_a_lease_is_renewed_by_requests_for_which_client_go_needs_rights_too(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    async with process("a").elector() as elector:
        await leads(time, elector)
        await time.advance(10)
    assert {write.split()[0] for write in server.writes} == {"POST", "PUT"}


async def test_frozen_wall_clock_does_not_hide_renewals(server: LeaseServer, time: VirtualClock, process: Make) -> None:
    a, b = process("a"), process("b")
    a.now = lambda: time._start  # type: ignore[method-assign]
    async with a.elector() as leader, b.elector() as standby:
        await leads(time, leader)
        await time.advance(120)
        assert leader.is_leader
        assert not standby.is_leader


async def test_foreign_fields_of_the_lease_survive(server: LeaseServer, time: VirtualClock, process: Make) -> None:
    server.put_lease({"strategy": "OldestEmulationVersion", "somethingNew": [1]})
    server.lease()["metadata"]["labels"] = {"team": "blue"}
    async with process("a").elector() as elector:
        await leads(time, elector)
        await time.advance(10)
    assert server.lease()["spec"]["somethingNew"] == [1]
    assert server.lease()["metadata"]["labels"] == {"team": "blue"}


# Two candidates


async def test_the_standby_waits_as_long_as_the_leader_renews(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    b = process("b")
    async with process("a").elector() as leader, b.elector() as standby:
        await leads(time, leader)
        await time.advance(3600)
        assert standby.status.state == "standby"
        assert standby.leader == "a"
        assert not standby.is_leader
        assert kinds(b) == ["observed a"]
        assert server.lease()["spec"]["leaseTransitions"] == 0


async def test_a_released_lease_is_taken_within_the_retry_period(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    a = process("a")
    async with a.elector() as leader, process("b").elector() as standby:
        await leads(time, leader)
        await time.advance(30)
        await time.run(leader.stop())
        assert time.monotonic() == 30
        spec = server.lease()["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
        assert not leader.is_leader
        assert await leads(time, standby) <= 2 * (1 + 1.2)
        assert server.lease()["spec"]["leaseTransitions"] == 1
    assert kinds(a) == ["observed a", "started a", "observed ", "stopped "]
    assert not a.events[-1].lost


async def test_a_leader_that_falls_silent_is_followed_when_its_lease_has_run_out(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    a, b = process("a"), process("b")
    async with a.elector() as leader, b.elector() as standby:
        await leads(time, leader)
        await time.advance(30)
        a.cut = True
        took = await leads(time, standby)
        # Fifteen seconds after the standby saw the last renewal, which it does at most 4.4 s after it was made.
        assert 15 - 2 <= took <= 15 + 4.4 + 0.2
        assert server.lease()["spec"]["leaseTransitions"] == 1
        assert leader.status.state == "over"
        assert "last renewed 10s ago, and a renewal is valid for 10s" in await leader.wait_for_loss()
        assert "no answer" in leader.status.reason


async def test_a_lease_that_is_not_released_has_to_run_out(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    async with process("a").elector(release_on_exit=False) as leader, process("b").elector() as standby:
        await leads(time, leader)
        await time.advance(30)
        await time.run(leader.stop())
        assert server.lease()["spec"]["holderIdentity"] == "a"
        assert await leads(time, standby) >= 15 - 2


@pytest.mark.parametrize("skew", [-86_400.0 * 365, 86_400.0 * 365])
async def test_clocks_that_disagree_about_the_time_of_day_do_not_matter(
    time: VirtualClock, process: Make, skew: float
) -> None:
    a, b = process("a"), process("b", skew=skew)
    async with a.elector() as leader, b.elector() as standby:
        await leads(time, leader)
        await time.advance(120)
        assert leader.is_leader
        assert not standby.is_leader
        a.pause()
        assert await leads(time, standby) >= 13
        a.resume()


async def test_one_of_many_concurrent_candidates_leads(server: LeaseServer, time: VirtualClock, process: Make) -> None:
    processes = [process(f"p{number}") for number in range(20)]
    for one in processes:
        one.latency = 0.01
    electors = [one.elector() for one in processes]
    for elector in electors:
        await elector.__aenter__()
    await time.advance(60)
    assert sum(elector.is_leader for elector in electors) == 1
    assert server.lease()["spec"]["leaseTransitions"] == 0
    for elector in electors:
        await time.run(elector.stop())


async def test_a_leader_with_longer_times_than_the_standby_is_waited_for(time: VirtualClock, process: Make) -> None:
    a = process("a")
    async with (
        a.elector(lease_duration=60, renew_deadline=40) as leader,
        process("b").elector(lease_duration=3, renew_deadline=2, retry_period=0.5) as standby,
    ):
        await leads(time, leader)
        await time.advance(30)
        a.pause()
        assert await leads(time, standby) >= 58
        a.resume()


async def test_a_duration_is_written_in_whole_seconds_that_are_not_too_short(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    async with process("a").elector(lease_duration=2.2, renew_deadline=2.1, retry_period=0.5) as elector:
        await leads(time, elector)
        assert server.lease()["spec"]["leaseDurationSeconds"] == 3


# Disturbances


async def test_failed_renewals_are_survived_within_the_renew_deadline(time: VirtualClock, process: Make) -> None:
    a = process("a")
    async with a.elector() as elector:
        await leads(time, elector)
        for _ in range(20):
            a.cut = True
            await time.advance(7)
            a.cut = False
            await time.advance(3)
        assert elector.is_leader
        assert elector.status.failures > 20
        assert elector.status.last_error == ""


async def test_renewal_cancelled_by_another_task_is_a_failed_attempt(time: VirtualClock, process: Make) -> None:
    a = process("a")
    async with a.elector() as elector:
        await leads(time, elector)
        a.torn = True
        await time.advance(5)
        a.torn = False
        await time.advance(60)
        assert elector.is_leader
        assert elector.status.failures == 2


async def test_renewal_with_a_lost_response_is_recognized_as_own(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    a = process("a")
    async with a.elector() as elector:
        await leads(time, elector)
        a.deaf = True
        await time.advance(5)
        a.deaf = False
        await time.advance(60)
        assert elector.is_leader
        assert server.lease()["spec"]["leaseTransitions"] == 0


async def test_a_connection_that_went_silent_leaves_time_for_another_try(time: VirtualClock, process: Make) -> None:
    a = process("a")
    async with a.elector() as elector:
        await leads(time, elector)
        a.latency = 3600
        await time.advance(6)
        a.latency = 0
        await time.advance(60)
        assert elector.is_leader


async def test_a_lease_that_was_deleted_is_made_again_by_its_holder(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    async with process("a").elector() as leader, process("b").elector() as standby:
        await leads(time, leader)
        await time.advance(30)
        server.delete_lease()
        await time.advance(60)
        assert leader.is_leader
        assert not standby.is_leader
        assert server.lease()["spec"]["acquireTime"] == "2030-01-01T00:00:00.000000Z"


async def test_deleted_lease_is_not_acquired_before_it_would_expire(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    a = process("a")
    async with a.elector() as leader, process("b").elector() as standby:
        await leads(time, leader)
        await time.advance(30)
        a.cut = True
        server.delete_lease()
        while not standby.is_leader:
            await time.advance(0.1)
            assert not (leader.is_leader and standby.is_leader)
        assert time.monotonic() >= 45


async def test_lease_taken_by_another_holder_is_lost_at_the_next_renewal(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    a = process("a")
    async with a.elector() as elector:
        await leads(time, elector)
        server.edit_lease(holderIdentity="intruder", acquireTime="2031-01-01T00:00:00.000000Z")
        await time.advance(2)
        assert not elector.is_leader
        assert elector.status.reason == "intruder holds the lease now"
        assert elector.leader == "intruder"
        with pytest.raises(NotLeader, match=r"the leadership of ns/lead is over: intruder holds the lease now"):
            await elector.wait_for_leadership()
    assert server.lease()["spec"]["holderIdentity"] == "intruder"
    assert kinds(a) == ["observed a", "started a", "observed intruder", "stopped intruder"]
    assert a.events[-1].lost


async def test_own_lease_from_before_a_restart_is_acquired_immediately(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    server.put_lease({"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 7, "acquireTime": "x"})
    async with process("a").elector() as elector:
        assert await leads(time, elector) == 0
        assert server.lease()["spec"]["leaseTransitions"] == 7
        assert server.lease()["spec"]["acquireTime"] != "x"


async def test_of_two_with_the_same_identity_the_older_gives_way(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    async with process("a").elector() as older:
        await leads(time, older)
        async with process("a").elector() as newer:
            await leads(time, newer)
            await time.advance(2)
            assert not older.is_leader
            assert older.status.reason == "another process took the lease under the same identity, a"
            await time.run(older.stop())
            await time.advance(60)
            assert newer.is_leader
            assert server.lease()["spec"]["holderIdentity"] == "a"


# What a hostile or careless hand may have written


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"holderIdentity": ""},
        {"holderIdentity": None, "renewTime": None, "acquireTime": None, "leaseTransitions": None},
        {"holderIdentity": 7, "leaseDurationSeconds": "x", "leaseTransitions": "y"},
        {"leaseDurationSeconds": -5, "leaseTransitions": -1},
        "not an object",
    ],
)
async def test_lease_without_a_holder_is_free(
    server: LeaseServer, time: VirtualClock, process: Make, spec: object
) -> None:
    server.put_lease(spec)
    async with process("a").elector() as elector:
        assert await leads(time, elector) == 0


@pytest.mark.parametrize("duration", [None, 0, -1, "15", True, 1.5])
async def test_a_holder_without_a_sensible_duration_is_given_our_own(
    server: LeaseServer, time: VirtualClock, process: Make, duration: Any
) -> None:
    server.put_lease({"holderIdentity": "other", "leaseDurationSeconds": duration, "renewTime": "whenever"})
    async with process("a").elector() as elector:
        assert 15 <= await leads(time, elector) <= 15.2


async def test_a_lease_for_a_lifetime_is_waited_for_one_hour(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    server.put_lease({"holderIdentity": "other", "leaseDurationSeconds": 2**31 - 1})
    async with process("a").elector() as elector:
        began = time.monotonic()
        await time.run(elector.wait_for_leadership(), limit=7200)
        assert 3600 <= time.monotonic() - began <= 3601


async def test_the_number_of_transitions_does_not_overflow(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    server.put_lease({"holderIdentity": "", "leaseTransitions": 2**31 - 1})
    async with process("a").elector() as elector:
        await leads(time, elector)
        assert server.lease()["spec"]["leaseTransitions"] == 2**31 - 1


async def test_a_holder_cannot_write_lines_into_our_log(
    server: LeaseServer, time: VirtualClock, process: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.put_lease({"holderIdentity": "x\nERROR all is lost" + "y" * 10_000, "leaseDurationSeconds": 15})
    async with process("a").elector():
        await time.advance(5)
    (line,) = [record.getMessage() for record in caplog.records if "the leader of" in record.getMessage()]
    assert "\n" not in line
    assert len(line) < 400


# Around a block of code


async def test_lead_waits_runs_the_block_and_gives_the_lease_back(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    elector = process("a").elector()

    async def work() -> str:
        async with elector.lead() as client:
            await client.create(ConfigMap(metadata=ObjectMeta(name="made", namespace="ns")))
            return "done"

    assert await time.run(work()) == "done"
    assert server.lease()["spec"]["holderIdentity"] == ""
    assert ("ns", "made") in server.objects


async def test_a_lost_leadership_cancels_the_block_and_raises(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    a = process("a")
    seen: list[str] = []

    async def work() -> None:
        async with a.elector().lead():
            try:
                a.cut = True
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append(f"cancelled at {time.monotonic()}")
                raise

    with pytest.raises(NotLeader, match=r"leadership of ns/lead was lost: the lease was last renewed 10s ago"):
        await time.run(work())
    assert seen == ["cancelled at 10.0"]
    current = asyncio.current_task()
    assert current is not None
    assert not current.cancelling()


async def test_errors_and_cancellation_from_elsewhere_come_through_and_release_the_lease(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    async def failing() -> None:
        async with process("a").elector().lead():
            raise TimeoutError("of the block itself")

    with pytest.raises(TimeoutError, match="of the block itself"):
        await time.run(failing())
    assert server.lease()["spec"]["holderIdentity"] == ""

    async def waiting() -> None:
        async with process("a").elector().lead():
            await asyncio.Event().wait()

    task = asyncio.create_task(waiting())
    await time.advance(30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await time.run(task)
    assert server.lease()["spec"]["holderIdentity"] == ""


async def test_a_standby_that_is_stopped_has_written_nothing(
    server: LeaseServer, time: VirtualClock, process: Make
) -> None:
    server.put_lease({"holderIdentity": "other", "leaseDurationSeconds": 3600})
    async with process("a").elector():
        await time.advance(60)
    assert server.writes == []
    assert server.lease()["spec"]["holderIdentity"] == "other"


async def test_an_elector_that_was_stopped_before_it_could_lead(time: VirtualClock, process: Make) -> None:
    elector = process("a").elector()
    await elector.__aenter__()
    await time.run(elector.stop())
    with pytest.raises(NotLeader, match="is over: it was stopped"):
        await elector.wait_for_leadership()
    with pytest.raises(RuntimeError, match="runs only once: create another"):
        await elector.__aenter__()


async def test_elector_that_has_not_started_raises(process: Make) -> None:
    elector = process("a").elector()
    with pytest.raises(RuntimeError, match="has not started: use it as `async with elector`"):
        await elector.wait_for_leadership()
    assert elector.status.state == "new"
    assert not elector.is_leader
    assert elector.leader == ""


async def test_failing_callback_is_logged(time: VirtualClock, process: Make, caplog: pytest.LogCaptureFixture) -> None:
    def failing(event: ElectionEvent) -> None:
        raise ValueError(f"a bug of the program at {event.kind}")

    a = process("a")
    elector = LeaderElector(a.client(), "lead", on_event=failing, clock=a, rng=random.Random(1))
    async with elector:
        await leads(time, elector)
        await time.advance(20)
        assert elector.is_leader
    assert "on_event of the elector of ns/lead failed" in caplog.text


async def test_missing_rights_are_named_and_waited_for(
    server: LeaseServer, time: VirtualClock, process: Make, caplog: pytest.LogCaptureFixture
) -> None:
    a = process("a")
    handle = server.handle
    message = 'leases.coordination.k8s.io "lead" is forbidden: User "jane" cannot get resource "leases"'
    server.handle = lambda request: ScriptedResponse(403, {"code": 403, "reason": "Forbidden", "message": message})  # type: ignore[method-assign]
    async with a.elector() as elector:
        await time.advance(60)
        assert 'User "jane" cannot get resource "leases"' in elector.status.last_error
        assert caplog.text.count("cannot get") == 1
        server.handle = handle  # type: ignore[method-assign]
        assert await leads(time, elector) <= 4.4


# Asking for the impossible


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lease_duration": 10}, r"renew_deadline \(10s\) must be shorter than lease_duration \(10s\)"),
        ({"retry_period": 9}, r"retry_period \(9s\) times 1.2 must be shorter than renew_deadline \(10s\)"),
        ({"retry_period": 0}, "retry_period must be a duration, .* and more than 0, not 0"),
        ({"renew_deadline": -1}, "renew_deadline must be a duration, .* not -1"),
        ({"renew_deadline": float("nan")}, "renew_deadline must be a duration, .* not nan"),
        ({"lease_duration": 4000}, "lease_duration must be from 1s to 1h, not 1h6m40s"),
        ({"lease_duration": 0.5, "renew_deadline": 0.4}, "lease_duration must be from 1s to 1h, not 500ms"),
        ({"identity": ""}, "an identity cannot be empty"),
        ({"in_thread": True}, "renewing in a thread needs the system's clock and a second client"),
    ],
)
def test_settings_that_cannot_work_are_refused(process: Make, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        process("a").elector(**options)


def test_rejects_a_value_that_is_not_a_duration(process: Make) -> None:
    with pytest.raises(TypeError, match=r"lease_duration must be a duration, such as 30s, .*, not None"):
        process("a").elector(lease_duration=None)


def test_durations_are_strings_too(process: Make) -> None:
    elector = process("a").elector(lease_duration="1m", renew_deadline="40s", retry_period=timedelta(seconds=10))
    assert elector._timing.lease_duration == 60


def test_default_identities_are_unique(process: Make) -> None:
    client = process("a").client()
    one, two = LeaderElector(client, "lead"), LeaderElector(client, "lead")
    assert one.identity != two.identity
    assert one.namespace == client.namespace
    assert not one.in_thread  # this client's transport cannot be doubled
