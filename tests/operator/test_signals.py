"""Signals: heard by the process that they are for. In a process of its own, since they are the process's."""

from __future__ import annotations

import subprocess
import sys

from tests.patience import PATIENCE

FORKING = """
import asyncio, multiprocessing, signal
from kubewright.operator.process import Signals

async def main():
    with Signals(lambda: None) as signals:
        asked = asyncio.ensure_future(signals.first())
        parent_end, child_end = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(target=wait, args=(parent_end, child_end))
        child.start()
        parent_end.recv()
        child.terminate()
        await asyncio.to_thread(child.join, 30)
        print("the child ended with", child.exitcode)
        print("the operator was asked to stop:", asked.done())
        child.kill()
        signal.raise_signal(signal.SIGTERM)
        await asked
        print("and now it was")

def wait(parent_end, child_end):
    child_end.send("begun")
    signal.pause()

asyncio.run(main())
"""


def test_a_forked_process_that_is_terminated_does_not_stop_the_operator() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.stdout.splitlines() == [
        "the child ended with -15",
        "the operator was asked to stop: False",
        "and now it was",
    ], done.stderr
