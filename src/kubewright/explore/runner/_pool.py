"""`Pool`: servers that run plans, each on one core."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

from kubewright.explore.model import Outcome, Plan
from kubewright.explore.runner import _frames

__all__ = ["Pool", "RunnerError"]

_START: Final = 60.0
_RUN: Final = 330.0


class RunnerError(Exception):
    """A server of the pool does not start or does not answer."""


class _Server:
    """One server process."""

    def __init__(self, hash_seed: int) -> None:
        environment = {
            **os.environ,
            "PYTHONHASHSEED": str(hash_seed),
            "PYTHONASYNCIODEBUG": "",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),  # what pytest or the command added
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kubewright.explore.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        try:
            self._read(_START)
        except (EOFError, TimeoutError) as error:
            self.close()
            raise RunnerError("the process that runs plans did not start") from error

    def _read(self, seconds: float) -> object:
        assert self._process.stdout is not None
        return _frames.read(self._process.stdout.fileno(), seconds)

    def run(self, target: str, plan: Plan, fresh: bool) -> Outcome:
        """Runs a plan."""
        assert self._process.stdin is not None
        try:
            _frames.write(self._process.stdin.fileno(), (target, plan, fresh))
            found = self._read(_RUN)
        except (EOFError, TimeoutError, BrokenPipeError) as error:
            raise RunnerError("the process that runs plans ended") from error
        assert isinstance(found, Outcome)
        return found

    def kill(self) -> None:
        """Kills the process, so that a run that another thread waits for fails."""
        self._process.kill()

    def close(self) -> None:
        """Ends the server."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


class _Worker:
    """Runs one plan at a time, in a server with the hash seed of the plan."""

    def __init__(self) -> None:
        self._servers = {0: _Server(0)}

    def run(self, target: str, plan: Plan, fresh: bool) -> Outcome:
        """Runs a plan."""
        seed = plan.conditions.hash_seed
        if seed not in self._servers:
            self._servers[seed] = _Server(seed)
        return self._servers[seed].run(target, plan, fresh)

    def kill(self) -> None:
        """Kills the servers."""
        for server in list(self._servers.values()):  # another thread may start one
            server.kill()

    def close(self) -> None:
        """Ends the servers."""
        for server in self._servers.values():
            server.close()


class Pool:
    """Runs plans: `with Pool("foo.py", workers=2) as pool: pool.run(plan)`. `run` may be called from several threads.

    Raises `RunnerError` if the servers do not start.
    """

    def __init__(self, target: str, *, workers: int) -> None:
        self._target = target
        self.workers = workers
        self._free: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._started: list[_Worker] = []
        self.runs = 0
        """How many plans were run."""
        self._canceled = False

    def __enter__(self) -> Self:
        with ThreadPoolExecutor(max_workers=self.workers) as threads:
            started = [threads.submit(_Worker) for _ in range(self.workers)]
        try:
            for future in started:
                worker = future.result()
                self._started.append(worker)
                self._free.put(worker)
        except RunnerError:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the servers."""
        for worker in self._started:
            worker.close()

    @contextlib.contextmanager
    def threads(self) -> Iterator[ThreadPoolExecutor]:
        """A thread for each worker. After an exception in the block, such as Ctrl-C, the runs of all threads fail."""
        with ThreadPoolExecutor(max_workers=self.workers) as threads:
            try:
                yield threads
            except BaseException:
                # The executor waits for its threads, and the task of a thread can take many runs.
                threads.shutdown(wait=False, cancel_futures=True)
                self._canceled = True
                for worker in self._started:
                    worker.kill()
                raise

    def run(self, plan: Plan, target: str = "", *, fresh: bool = False) -> Outcome:
        """Runs a plan and waits for its outcome. `target` names another operator.

        A run continues a process that has played the same first steps before, if there is one. A `fresh` run begins at
        the beginning; its outcome is the same.
        """
        worker = self._free.get()
        try:
            if self._canceled:
                raise RunnerError("the exploration was interrupted")
            self.runs += 1
            return worker.run(target or self._target, plan, fresh)
        finally:
            self._free.put(worker)
