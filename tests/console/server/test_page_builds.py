"""`PageBuilds` bounds the pages that are built at a time."""

from __future__ import annotations

import asyncio

from starlette.types import Message, Send

from kubewright.console.server import PageBuilds


async def drop(message: Message) -> None:
    """Sends nothing."""


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_builds_a_few_pages_at_a_time_in_order() -> None:
    builds, order = PageBuilds(2), list[int]()
    done = [asyncio.Event() for _ in range(6)]

    def page(number: int) -> asyncio.Task[None]:
        async def build(send: Send) -> None:
            order.append(number)
            await done[number].wait()

        return asyncio.create_task(builds.run(build, drop))

    pages = [page(number) for number in range(6)]
    await settle()
    assert order == [0, 1]
    done[0].set()
    await settle()
    assert order == [0, 1, 2]
    for event in done:
        event.set()
    await asyncio.gather(*pages)
    assert order == [0, 1, 2, 3, 4, 5]


async def test_client_that_does_not_read_its_page_delays_no_other_page() -> None:
    builds, stuck = PageBuilds(1), asyncio.Event()

    async def never_read(message: Message) -> None:
        await stuck.wait()

    async def build(send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    first = asyncio.create_task(builds.run(build, never_read))
    await settle()
    assert not first.done()
    await builds.run(build, drop)
    stuck.set()
    await first


async def test_failed_and_canceled_pages_make_room() -> None:
    builds, reached = PageBuilds(1), list[str]()

    async def fail(send: Send) -> None:
        raise ValueError

    async def hang(send: Send) -> None:
        await asyncio.Event().wait()

    async def build(send: Send) -> None:
        reached.append("built")

    await asyncio.gather(builds.run(fail, drop), return_exceptions=True)
    hanging = asyncio.create_task(builds.run(hang, drop))
    await settle()
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)
    await builds.run(build, drop)
    assert reached == ["built"]
