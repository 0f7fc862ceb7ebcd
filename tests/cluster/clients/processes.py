"""Programs of others as processes, and waiting for what they do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from tests.patience import PATIENCE, until

Found = TypeVar("Found")


async def eventually(look: Callable[[], Awaitable[Found | None]]) -> Found:
    """What `look` finds, once it finds something; for what nothing announces."""

    async def found() -> tuple[Found] | None:
        seen = await look()
        return None if seen is None else (seen,)

    return (await until(found))[0]


@contextlib.asynccontextmanager
async def running(*command: str | Path, environment: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs a program until the block ends, then stops it with SIGTERM; it must exit with 0."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env={"PATH": os.environ["PATH"]} | environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    said: list[bytes] = []
    reading = asyncio.create_task(_collect(process.stdout, said))
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            code = await process.wait()
        await reading
        assert code == 0, b"".join(said).decode()
    except BaseException as error:
        error.add_note("the program said:\n" + b"".join(said).decode())
        raise
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        reading.cancel()


async def _collect(stream: asyncio.StreamReader, said: list[bytes]) -> None:
    while line := await stream.readline():
        said.append(line)


async def finished(
    *command: str | Path, environment: dict[str, str], seconds: float = PATIENCE
) -> tuple[int, str, str]:
    """A program that ends by itself: its exit code, and what it said on both streams."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env={"PATH": os.environ["PATH"]} | environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            output, errors = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()
