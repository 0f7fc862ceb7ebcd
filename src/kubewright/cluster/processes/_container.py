"""`ContainerWorker`: runs one container: start, hooks, probes, end, restarts with backoff."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from kubewright.api import core
from kubewright.backoff import doubled
from kubewright.clock import TimeLimitExceeded, within
from kubewright.cluster.processes._context import NodeContext
from kubewright.cluster.processes._fields import InvalidReference
from kubewright.cluster.processes._images import Refused
from kubewright.cluster.processes._launching import Launched, Launcher
from kubewright.cluster.processes._memory import measures_memory, memory_excess, memory_limit
from kubewright.cluster.processes._output import Output
from kubewright.cluster.processes._probing import ProbeTarget, Verdict, check, http_get, probing
from kubewright.cluster.processes._state import ContainerState
from kubewright.cluster.processes._volumes import VolumeFailure
from kubewright.kubelet import LocalProcess, RuntimeFailure

__all__ = ["ContainerWorker", "PodView"]

_LONGEST_DELAY: Final = 300.0
_STABLE_SECONDS: Final = 600.0
_RETRY_SECONDS: Final = 2.0
_MEASURE_SECONDS: Final = 1.0
_TAIL_LINES, _TAIL_BYTES = 80, 2048
_MAX_EXEC_OUTPUT: Final = 10 * 1024
_START_ERROR: Final = 128


class PodView(Protocol):
    """The pod as its containers see it."""

    pod: core.Pod
    ending: asyncio.Event
    """Set when containers are not to be started again."""
    ports: dict[int, int]
    """Ports of this machine for container ports, if the pod shares its address."""

    def changed(self) -> None:
        """Requests a write of the status."""


class ContainerWorker:
    """Runs a container until it is done. `stop` ends the current run."""

    def __init__(
        self, node: NodeContext, view: PodView, state: ContainerState, launcher: Launcher, logs: Path, address: str
    ) -> None:
        self.state = state
        self.launched: Launched | None = None
        self._node = node
        self._view = view
        self._launcher = launcher
        self._logs = logs
        self._address = address
        self._stopped = asyncio.Event()
        self._settled = asyncio.Event()  # no start is in progress
        self._settled.set()
        self._killed = False
        self._reason = ""

    # The loop

    async def run(self, restarts: Callable[[int], bool]) -> None:
        """Runs the container, and restarts it while `restarts` returns True for the exit code."""
        state = self.state
        while not self._view.ending.is_set():
            begun = self._node.clock.monotonic()
            code = await self._run_once()
            self._view.changed()
            if code is None:
                continue
            if self._view.ending.is_set() or not restarts(code):
                break
            lasted = self._node.clock.monotonic() - begun
            state.failures = 1 if lasted > _STABLE_SECONDS else state.failures + 1
            await self._back_off()
            if not self._view.ending.is_set():
                state.restarts += 1
        state.done = True
        self._view.changed()

    async def _back_off(self) -> None:
        """Waits before the next run. The first restart is immediate, as by a kubelet."""
        state = self.state
        if state.failures < 2:
            return
        delay = doubled(state.failures - 2, first=self._node.restart_delay, longest=_LONGEST_DELAY)
        metadata = self._view.pod.metadata
        whose = f"{metadata.name}_{metadata.namespace}({metadata.uid})"
        text = f"back-off {delay:g}s restarting failed container={state.name} pod={whose}"
        self._report("BackOff", f"Back-off restarting failed container {state.name} in pod {whose}", warning=True)
        state.wait("CrashLoopBackOff", text)
        self._view.changed()
        await self.pause(delay)

    async def pause(self, seconds: float) -> None:
        """Waits for that many seconds, or until the pod ends."""
        with contextlib.suppress(TimeLimitExceeded):
            await within(self._node.clock, seconds, self._view.ending.wait())

    async def _run_once(self) -> int | None:
        """Runs the container once and returns its exit code; None if it could not be created."""
        state, now = self.state, self._node.clock.now
        self._stopped.clear()
        self._reason = ""
        if state.image is None:
            return await self._simulate()
        self._settled.clear()
        try:
            async with self._node.starting:
                if self._view.ending.is_set():
                    return None
                launched = self.launched = await self._launcher.start(self._view.pod, state)
        except (InvalidReference, Refused, VolumeFailure) as error:
            await self._refuse(error)
            return None
        except OSError as error:
            state.begin(now())
            step = getattr(error, "filename", None) or "the program"
            message = f"cannot start {step}: {error.strerror or error}"
            state.end(now(), _START_ERROR, "StartError", message)
            self._report("Failed", f"Error: {message}", warning=True)
            return _START_ERROR
        finally:
            self._settled.set()
        if self._killed:  # before there was a process
            launched.main.kill()
        return await self._supervise(launched)

    async def _refuse(self, error: Exception) -> None:
        self.state.wait("CreateContainerConfigError", str(error))
        self._report("Failed", f"Error: {error}", warning=True)
        self._view.changed()
        if isinstance(error, Refused):  # the mapping does not change
            await self._view.ending.wait()
        await self.pause(_RETRY_SECONDS)

    async def _simulate(self) -> int:
        """Behaves like a container that becomes ready immediately, and like an init container that succeeds."""
        state, now = self.state, self._node.clock.now
        text = f'Image "{state.container.image}" is not mapped to a program; container {state.name} is simulated'
        self._report("ImageNotMapped", text)
        state.begin(now())
        if state.kind != "init":
            state.started = state.ready = True
            self._view.changed()
            await self._stopped.wait()
        state.end(now(), 0, "Completed", "")
        return 0

    # One run

    async def _supervise(self, launched: Launched) -> int:
        state, clock = self.state, self._node.clock
        if state.previous_output is not None:  # a kubelet, too, keeps the logs of one run before the current one
            state.previous_output.log.remove()
        state.previous_output = state.output
        output = state.output = Output(launched.process, self._logs / f"{state.restarts}.log")
        state.begin(clock.now())
        for reason, text in (
            ("Pulled", f'Container image "{state.container.image}" is mapped to a program of this machine'),
            ("Created", "Container created"),
            ("Started", "Container started"),
        ):
            self._report(reason, text)
        hooks_and_limits = [
            asyncio.ensure_future(each) for each in (self._run_hook_and_probes(), self._limit_memory(launched))
        ]
        try:
            code = await launched.process.wait()
        finally:
            for task in hooks_and_limits:
                task.cancel()
            await asyncio.gather(*hooks_and_limits, return_exceptions=True)
            self.launched = None
            await output.finish()
        reason = self._reason or ("Completed" if code == 0 else "Error")
        state.end(clock.now(), code, reason, await self._message(launched, output, code))
        if code != 0 and not self._stopped.is_set():
            self._report_conflicts()
        return code

    async def _message(self, launched: Launched, output: Output, code: int) -> str:
        message = self._launcher.termination_message(launched)
        falls_back = self.state.container.termination_message_policy == "FallbackToLogsOnError"
        if not message and falls_back and code != 0:
            message = await output.tail(_TAIL_LINES, _TAIL_BYTES)
        return message

    async def _run_hook_and_probes(self) -> None:
        """Runs the postStart hook, then the probes."""
        state, container = self.state, self.state.container
        hook = container.lifecycle.post_start if container.lifecycle is not None else None
        if hook is not None and (failure := await self._hook(hook)) is not None:
            self._report("FailedPostStartHook", f"PostStartHook failed: {failure}", warning=True)
            await self._kill_by("FailedPostStartHook", None)
            return
        if container.startup_probe is not None:
            await self._probe("Startup", container.startup_probe, self._started)
        state.started = True
        if container.readiness_probe is None:
            state.ready = state.kind != "init"
        self._view.changed()
        probes: list[Awaitable[None]] = []
        if container.readiness_probe is not None:
            probes.append(self._probe("Readiness", container.readiness_probe, self._readiness))
        if container.liveness_probe is not None:
            probes.append(self._probe("Liveness", container.liveness_probe, lambda _: False))
        await asyncio.gather(*probes)

    async def _limit_memory(self, launched: Launched) -> None:
        """Kills the container when it uses more memory than its limit, as the kernel does for a cgroup."""
        limit = memory_limit(self.state.container)
        if limit is None or not measures_memory():
            return
        while (used := memory_excess(launched.main.pid, limit.value())) is None:
            await self._node.clock.sleep(_MEASURE_SECONDS)
        self._reason = "OOMKilled"
        text = f"Container {self.state.name} uses {used / 2**20:.1f}Mi of memory, and its limit is {limit}"
        self._report("OOMKilled", text, warning=True)
        launched.main.kill()

    async def _probe(self, kind: str, probe: core.Probe, decide: Callable[[Verdict], bool]) -> None:
        killing: list[Verdict] = []

        def judge(verdict: Verdict) -> bool:
            if not verdict.healthy:
                self._report("Unhealthy", f"{kind} probe failed: {verdict.output}", warning=True)
            if kind != "Readiness" and verdict.decided and not verdict.healthy:
                killing.append(verdict)
                return True
            return decide(verdict)

        async def check_once() -> tuple[bool, str] | None:
            try:
                return await check(probe, self._target, self._execute, self._node.clock)
            except Refused as error:  # no result, as for a kubelet that cannot run the command
                text = f"{kind} probe errored and resulted in unknown state: {error}"
                self._report("Unhealthy", text, warning=True)
                return None

        await probing(probe, self._node.clock, check_once, judge)
        if killing:
            await self._kill_by(f"failed {kind.lower()} probe", probe.termination_grace_period_seconds)

    def _started(self, verdict: Verdict) -> bool:
        return verdict.healthy

    def _readiness(self, verdict: Verdict) -> bool:
        if verdict.decided and self.state.ready != verdict.healthy:
            self.state.ready = verdict.healthy
            self._view.changed()
        return False

    async def _kill_by(self, why: str, grace: int | None) -> None:
        self._report("Killing", f"Container {self.state.name} {why}, will be restarted")
        usual = self._view.pod.spec.termination_grace_period_seconds
        seconds = grace if grace is not None else usual if usual is not None else 30
        # This task ends with the process.
        self._node.tasks.start(self.stop(seconds, quiet=True))
        await asyncio.Event().wait()

    # The end of a run

    async def stop(self, grace: float, *, quiet: bool = False) -> None:
        """Ends the current run: the hook, SIGTERM, and after `grace` seconds SIGKILL. Returns when it has ended."""
        self._stopped.set()
        await self._settled.wait()  # a program that is starting gets its hook and its signal, too
        launched = self.launched
        if launched is None:
            return
        if not quiet:
            self._report("Killing", f"Stopping container {self.state.name}")
        deadline = self._node.clock.monotonic() + grace
        lifecycle = self.state.container.lifecycle
        if lifecycle is not None and lifecycle.pre_stop is not None and grace > 0:
            try:
                failure = await within(self._node.clock, grace, self._hook(lifecycle.pre_stop))
            except TimeLimitExceeded:
                failure = "timed out"
            if failure is not None:
                self._report("FailedPreStopHook", f"PreStopHook failed: {failure}", warning=True)
        name = (lifecycle.stop_signal if lifecycle is not None else None) or "SIGTERM"
        launched.main.signal(_signal_number(name))
        try:
            left = max(deadline - self._node.clock.monotonic(), 0)
            await within(self._node.clock, left, launched.main.wait())
        except TimeLimitExceeded:
            launched.main.kill()
            await launched.main.wait()

    def kill(self) -> None:
        """Kills the current run."""
        self._stopped.set()
        self._killed = True
        if self.launched is not None:
            self.launched.main.kill()

    # Commands

    async def execute(self, command: Sequence[str], *, stdin: bool, tty: bool) -> LocalProcess:
        """Starts a command of a client. Raises RuntimeFailure or OSError."""
        launched, image = self.launched, self.state.image
        if launched is None or image is None:
            raise RuntimeFailure(f"container {self.state.name} is not running", status=500)
        try:
            image.check_exec(self.state.container.image or "", command)
        except Refused as error:
            raise RuntimeFailure(str(error), status=403) from None
        return await self._launcher.execute(launched, command, stdin=stdin, tty=tty)

    async def _execute(self, command: Sequence[str]) -> tuple[int, str]:
        """Runs the command of a probe or hook. Raises `Refused` or OSError."""
        try:
            process = await self.execute(command, stdin=False, tty=False)
        except RuntimeFailure as failure:
            raise Refused(str(failure)) from None
        output = bytearray()
        try:
            async for _, data in process.output():
                output += data[: _MAX_EXEC_OUTPUT - len(output)]
            return await process.wait(), output.decode(errors="replace")
        finally:
            await process.close()

    @property
    def _target(self) -> ProbeTarget:
        return ProbeTarget(self.state.container, self._address, self._view.ports)

    async def _hook(self, hook: core.LifecycleHandler) -> str | None:
        """Runs a hook. Returns the message of a failure."""
        try:
            if hook.exec is not None:
                code, output = await self._execute(hook.exec.command or [])
                return None if code == 0 else f"command exited with {code}: {output}"
            if hook.http_get is not None:
                await http_get(hook.http_get, self._target)
            elif hook.sleep is not None:
                await self._node.clock.sleep(hook.sleep.seconds)
        except (Refused, OSError, ValueError) as error:
            return str(error)
        return None

    # Events

    def _report(self, reason: str, message: str, *, warning: bool = False) -> None:
        pod, container = self._view.pod, self.state.container
        self._node.events.report(pod, container, reason, message, "Warning" if warning else "Normal")

    def _report_conflicts(self) -> None:
        """Explains the failure of a program whose port another process uses."""
        for port in self.state.container.ports or ():
            number = self._target.port(port.container_port)
            if (port.protocol or "TCP") == "TCP" and _in_use(self._address, number):
                text = (
                    f"port {number} is in use on {self._address}, by another pod or program that listens "
                    "on all addresses; let programs listen on $POD_IP"
                )
                self._report("PortConflict", text, warning=True)


def _in_use(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def _signal_number(name: str) -> int:
    return int(getattr(signal, name, signal.SIGTERM))
