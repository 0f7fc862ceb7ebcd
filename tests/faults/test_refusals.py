"""A server that refuses, fails, or does what it is asked and loses the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from kubewright.client import Client, MergePatch
from kubewright.testing import ControlPlane, Exchange, Fault, Gateway, Refusal, every
from tests.faults.toys import Journal, Toy, gone, metric, reconciled, store_equals_server, toy, toy_operator
from tests.patience import until

pytestmark = pytest.mark.control_plane

NAMES = [f"t-{number}" for number in range(12)]


async def change_all(admin: Client, room: str, size: int) -> None:
    for name in NAMES:
        await admin.patch(Toy, name, MergePatch({"spec": {"size": size}}), room)


def answers(gateway: Gateway) -> Counter[int]:
    return Counter(seen.status for seen in gateway.exchanges)


@pytest.mark.promise(
    "What happens when",
    "Requests that are refused with 429 or fail with 500 delay the work, and lose none of it.",
)
async def test_refused_and_failed_requests_delay_the_work_and_lose_none_of_it(
    plane: ControlPlane, admin: Client, room: str, journal: Journal
) -> None:
    gateway = plane.gateway()
    gateway.fault = every(3, Refusal(429, retry_after=1))
    operator = toy_operator(room, journal)
    for name in NAMES:
        await admin.create(toy(name, room))
    async with Client.connect(kubeconfig=gateway.kubeconfig) as client, operator.running(client) as running:
        await reconciled(admin, room, *NAMES)
        assert answers(gateway)[429] > len(NAMES) / 3

        gateway.fault = every(3, Refusal(500))
        await change_all(admin, room, 1)
        await reconciled(admin, room, *NAMES)

        gateway.fault = lambda exchange: Refusal(500)
        failed = answers(gateway)[500] + len(NAMES)
        await change_all(admin, room, 2)
        await until(lambda: answers(gateway)[500] >= failed, "requests that fail")
        gateway.fault = None
        await reconciled(admin, room, *NAMES)
        await store_equals_server(running, admin, room)
        # A write that may have happened is not sent again blindly: the reconcile failed, and came back.
        assert metric(operator, "controller_runtime_reconcile_errors_total", controller="toy") > 0
        for code in ("429", "500"):
            assert metric(operator, "rest_client_requests_total", code=code) > 0
        assert metric(operator, "rest_client_request_retries_total", code="200") > 0


def lost_writes(number: int) -> Callable[[Exchange], Fault]:
    """The answer to every so-manyth write is lost."""
    of_writes = every(number, "lose")
    return lambda exchange: of_writes(exchange) if exchange.writes else None


@pytest.mark.promise("What happens when", "A write whose answer was lost is neither missed nor done twice.")
async def test_a_write_whose_answer_was_lost_is_neither_missed_nor_done_twice(
    plane: ControlPlane, admin: Client, room: str, journal: Journal
) -> None:
    gateway = plane.gateway()
    gateway.fault = lost_writes(2)
    operator = toy_operator(room, journal)
    async with Client.connect(kubeconfig=gateway.kubeconfig) as client, operator.running(client) as running:
        for name in NAMES:
            await admin.create(toy(name, room))
        await reconciled(admin, room, *NAMES)
        await change_all(admin, room, 1)
        await reconciled(admin, room, *NAMES)
        await store_equals_server(running, admin, room)
        for name in NAMES:
            await admin.delete(Toy, name, room)
        for name in NAMES:
            await gone(admin, room, name)
        await until(lambda: journal.deleted.keys() == set(NAMES), "the callbacks")
        await store_equals_server(running, admin, room)
        # Also when the answer to taking the finalizer off was lost, or the request itself failed.
        assert sorted(journal.finalized.values()) == [1] * len(NAMES)


@pytest.mark.promise(
    "What happens when",
    "A clean-up that succeeded is not called again because the finalizer could not be taken off.",
)
async def test_the_clean_up_is_not_done_again_because_the_finalizer_could_not_be_taken_off(
    plane: ControlPlane, admin: Client, room: str, journal: Journal
) -> None:
    gateway = plane.gateway()
    operator = toy_operator(room, journal)
    async with Client.connect(kubeconfig=gateway.kubeconfig) as client, operator.running(client):
        made = await admin.create(toy("t", room))
        await reconciled(admin, room, "t")
        refused: list[Exchange] = []

        def refuse(exchange: Exchange) -> Fault:
            if exchange.method != "PATCH" or exchange.path.endswith("/status") or len(refused) >= 3:
                return None
            refused.append(exchange)
            return Refusal(500)

        gateway.fault = refuse
        await admin.delete(Toy, "t", room)
        await gone(admin, room, "t")
        assert [seen.path.rsplit("/", 2)[1:] for seen in refused] == [["toys", "t"]] * 3
        assert journal.finalized == {made.metadata.uid: 1}
