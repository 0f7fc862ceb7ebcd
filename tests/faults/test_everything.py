"""A thousand toys, created, changed and deleted at random while everything goes wrong that can.

A second kube-apiserver is paused for a minute at the same time: its connections stay open without responses.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewright.client import Client
from kubewright.operator import ExitCode
from kubewright.testing import ControlPlane
from tests.faults.load import Load, plan
from tests.faults.replicas import Replica
from tests.faults.toys import Toy
from tests.faults.world import World
from tests.patience import PATIENCE

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(400)]

TOYS = 1_000
OTHERS = 100
SEED = 5
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def minute() -> Iterator[subprocess.Popen[str]]:
    """The program `paused_minute`, which takes more than a minute. It runs beside the longest test."""
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.paused_minute"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with program:
        yield program
        program.kill()


@pytest.mark.promise(
    "What happens when",
    "After all of that at once, caches equal the server and each object is reconciled in its last generation.",
)
async def test_after_everything_that_can_go_wrong_all_is_as_it_should_be(
    plane: ControlPlane, admin: Client, room: str, tmp_path: Path
) -> None:
    async with World(plane, admin, room, tmp_path) as world:
        faults = [
            world.requests_refused,
            world.server_killed_and_token_replaced,
            world.leader_killed,
            world.history_forgotten,
            world.right_withdrawn,
            world.server_paused,
            world.leader_paused,
        ]
        load = Load(admin, room)
        for actions, fault in zip(plan(random.Random(SEED), TOYS, len(faults), OTHERS), faults, strict=True):
            await asyncio.gather(load.run(actions), fault())
        assert load.done == TOYS + len(faults) * OTHERS

        await world.settles()
        await world.store_equals_server()
        survivors = {toy.metadata.uid: toy for toy in await admin.list(Toy, room)}
        assert len(survivors) > TOYS / 4
        assert await world.stop() == [ExitCode.STOPPED] * 2
        check_reports(world.all, survivors)
        assert world.written_too_late == []
        # Killed by us, or ended by itself: without its lease, or because there was no server when it started.
        assert {code for _, code in world.exits} <= {-9, ExitCode.LEASE_LOST, ExitCode.NOT_READY, ExitCode.STOPPED}


def check_reports(replicas: list[Replica], survivors: dict[str, Toy]) -> None:
    """Checks the guarantees about calls, from the reports of each replica."""
    reconciled: set[tuple[str, int]] = set()
    finalized: dict[str, list[Replica]] = defaultdict(list)
    for replica in replicas:
        at_work: set[str] = set()
        ended: set[str] = set()
        for what, *about in replica.reports:
            if what not in ("begin", "done", "failed"):
                continue
            function, name, uid, generation = about
            if what == "begin":
                assert name not in at_work, f"{name} was worked on twice at once"
                assert uid not in ended, f"{name} was seen to after its end"
                at_work.add(name)
                continue
            at_work.discard(name)
            if what == "done" and function == "finalize":
                ended.add(uid)
                finalized[uid].append(replica)
            elif what == "done":
                reconciled.add((uid, generation))
    missing = [toy for uid, toy in survivors.items() if (uid, toy.metadata.generation) not in reconciled]
    assert missing == [], "their last generation was not reconciled"
    assert not finalized.keys() & survivors.keys(), "finalized, and still there"
    gone = {uid for uid, _ in reconciled} - survivors.keys()
    assert gone <= finalized.keys(), "went without their clean-up"
    for uid, those in finalized.items():
        # Again only by another replica, when the first one was torn away before it could take the finalizer off.
        torn_away = [replica for replica in those if replica.process.returncode != ExitCode.STOPPED]
        assert len(those) - len(torn_away) <= 1, f"{uid} was cleaned up twice"


@pytest.mark.promise(
    "What happens when",
    "A server that is silent for a minute is noticed, and all goes on afterwards.",
)
def test_a_server_that_is_silent_for_a_minute_is_noticed_and_all_goes_on_afterwards(
    minute: subprocess.Popen[str],
) -> None:
    out, err = minute.communicate(timeout=PATIENCE)
    assert minute.returncode == 0, err
    saw = json.loads(out)
    assert saw.pop("paused for") >= 60
    assert saw == {
        "stalled": "Stalled: nothing was received for 20s",
        "state while stalled": "waiting",
        "read while stalled": ["before", "changing"],
        "written in the end": {"size": "0", "word": "during the pause"},
        "stalls of the patient": 0,
        "error in the end": "",
        "twice at once": [],
    }
