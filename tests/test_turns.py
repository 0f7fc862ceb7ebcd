"""`Turns` spreads work over turns of the event loop: counted, and not timed."""

from __future__ import annotations

import asyncio

from kubewright.turns import Turns


class Work:
    """Pieces of work that use CPU time of a virtual clock. Records in which turn of the loop each began."""

    def __init__(self, *, seconds: float) -> None:
        self.turns = Turns(budget=0.01, cpu_time=lambda: self._used)
        self.began: list[tuple[str, int]] = []
        self._seconds = seconds
        self._used = 0.0
        self._turn = 0
        self._count()

    def _count(self) -> None:
        self._turn += 1
        asyncio.get_running_loop().call_soon(self._count)

    async def piece(self, name: str, *, urgent: bool = False) -> None:
        await self.turns.next(urgent=urgent)
        self.began.append((name, self._turn))
        self._used += self._seconds

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.began]

    @property
    def most_in_one_turn(self) -> int:
        turns = [turn for _, turn in self.began]
        return max(turns.count(turn) for turn in turns)


async def test_short_work_begins_in_the_same_turn() -> None:
    work = Work(seconds=0.0001)
    await asyncio.gather(*(work.piece(str(number)) for number in range(50)))
    assert work.most_in_one_turn == 50


async def test_long_work_begins_one_piece_in_each_turn_in_order() -> None:
    work = Work(seconds=0.02)
    await asyncio.gather(*(work.piece(str(number)) for number in range(50)))
    assert work.most_in_one_turn == 1
    assert work.names == [str(number) for number in range(50)]


async def test_work_beyond_the_budget_begins_in_later_turns() -> None:
    work = Work(seconds=0.004)
    await asyncio.gather(*(work.piece(str(number)) for number in range(6)))
    assert [name for name, turn in work.began if turn == work.began[0][1]] == ["0", "1", "2"]
    assert work.names == ["0", "1", "2", "3", "4", "5"]


async def test_urgent_work_begins_before_other_work_that_waits() -> None:
    work = Work(seconds=0.02)
    waiting = [asyncio.create_task(work.piece(str(number))) for number in range(20)]
    await asyncio.sleep(0)
    await work.piece("urgent", urgent=True)
    assert len(work.began) <= 3
    await asyncio.gather(*waiting)
    assert len(work.began) == 21


async def test_canceled_work_does_not_use_a_turn() -> None:
    work = Work(seconds=0.02)
    waiting = [asyncio.create_task(work.piece(str(number))) for number in range(10)]
    await asyncio.sleep(0)
    for task in waiting[1:9]:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert work.names == ["0", "9"]
    assert work.began[1][1] - work.began[0][1] <= 3


async def test_work_begins_immediately_after_a_quiet_turn() -> None:
    work = Work(seconds=0.02)
    for number in range(3):
        await work.piece(str(number))
        for _ in range(3):
            await asyncio.sleep(0)
    assert not work.turns._waiting
    assert work.names == ["0", "1", "2"]
