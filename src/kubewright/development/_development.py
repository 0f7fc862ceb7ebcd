"""`Development`: runs a program on a cluster and restarts it whenever one of its files is saved."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubewright.client import ApiError
from kubewright.development._consoles import ConsoleBeside
from kubewright.development._ending import Ending, before, in_background
from kubewright.development._logs import shown_logs
from kubewright.development._process import OperatorProcess
from kubewright.development._samples import Samples
from kubewright.development._sources import Sources, forget_bytecode
from kubewright.development._target import TargetCluster, embedded_target, kubeconfig_target
from kubewright.development._targets import folders_of, paths_of
from kubewright.development._watching import Watching
from kubewright.development.messages import (
    ClusterReady,
    Ended,
    Failed,
    Installed,
    KindShown,
    Loaded,
    Message,
    Ready,
    Starting,
    Stopped,
)
from kubewright.development.views import View

if TYPE_CHECKING:
    from kubewright.cluster.workloads import Workloads

__all__ = ["Development", "Plan"]

_PYTHON: Final = ".py"
_TICK_SECONDS: Final = 1.0
_FREE_PORT: Final = "127.0.0.1:0"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The program and its cluster.

    Args:
        targets: files or modules that together contain one operator.
        kubeconfig: the kubeconfig file. Without it and a context, an embedded cluster is used.
        context: the context of the kubeconfig.
        samples: files and folders of objects to apply.
        rbac: whether the embedded cluster enforces RBAC; the operator then has its generated roles only.
        workloads: the nodes of the embedded cluster. Default: one, which runs no processes.
        write_kubeconfig: the path of the embedded cluster's kubeconfig. Default: a temporary file.
        namespaces: the only namespaces that the operator watches.
        console_port: the port of the web console; 0 for a free one, None for no console.
        verbose: whether the operator logs at debug level.
    """

    targets: Sequence[str]
    kubeconfig: str | None = None
    context: str | None = None
    samples: Sequence[Path] = ()
    rbac: bool = False
    workloads: Workloads | None = None
    write_kubeconfig: Path | None = None
    namespaces: Sequence[str] = ()
    console_port: int | None = 0
    verbose: bool = False

    @property
    def embedded(self) -> bool:
        """Whether the cluster is an embedded one."""
        return self.kubeconfig is None and self.context is None


class Development:
    """Runs a plan until a signal arrives, and shows what happens.

    The cluster and its objects survive every restart of the operator. A program that cannot be imported, or whose
    definitions the cluster rejects, does not run; the next save tries again.
    """

    def __init__(self, plan: Plan, view: View) -> None:
        self._plan = plan
        self._view = view
        self._sources = Sources()
        self._samples = Samples(plan.samples, self._handle_message, make_namespaces=plan.embedded)
        self._samples_due = asyncio.Event()
        self._files: set[Path] = set()
        self._kinds: list[KindShown] = []
        self._began = time.time_ns()
        self._failed: Failed | None = None
        self._pages = _FREE_PORT
        self._process: OperatorProcess | None = None
        self._watching: Watching | None = None
        self._console: ConsoleBeside | None = None

    async def run(self) -> bool:
        """Runs until SIGINT, SIGTERM or SIGHUP. Returns whether it ended in order: a second signal does not wait.

        Raises `ConfigError` or `ApiError` if the given cluster cannot be reached.
        """
        try:
            with Ending(self._kill_process) as ending:
                await before(ending.asked, self._work())
                self._view.show(Stopped())
            return not ending.hurried
        finally:
            self._view.close()

    async def _work(self) -> None:
        with shown_logs(self._handle_message):
            await self._rounds()

    async def _rounds(self) -> None:
        async with self._target() as target:
            self._handle_message(
                ClusterReady(
                    server=target.server,
                    kubeconfig=target.kubeconfig,
                    context=target.context,
                    embedded=target.embedded,
                )
            )
            async with (
                Watching(target.client, self._handle_message) as self._watching,
                ConsoleBeside(target, self._plan.console_port, self._handle_message) as self._console,
                in_background(self._ticks(), self._apply_samples(target)),
            ):
                changed: list[Path] = []
                while True:
                    changed = await self._round(target, changed)

    def _target(self) -> AbstractAsyncContextManager[TargetCluster]:
        plan = self._plan
        if plan.embedded:
            return embedded_target(rbac=plan.rbac, workloads=plan.workloads, kubeconfig=plan.write_kubeconfig)
        return kubeconfig_target(plan.kubeconfig, plan.context)

    # One version of the program

    async def _round(self, target: TargetCluster, changed: Sequence[Path]) -> list[Path]:
        """Runs the program until some of its files change, and returns these."""
        self._failed, self._began = None, time.time_ns()
        forget_bytecode(changed)
        self._watch_files([*self._files, *paths_of(self._plan.targets)])
        self._handle_message(Starting(targets=[*self._plan.targets], changed=[_shown(path) for path in changed]))
        self._process = process = await OperatorProcess.start(self._orders(target), self._handle_message)
        try:
            async with in_background(self._tell_end(process)):
                return await self._changes()
        finally:
            await process.stop()

    async def _changes(self) -> list[Path]:
        """Waits until files of the program change. Applies changed samples in between."""
        while True:
            changed = await self._sources.wait_for_change()
            program = [path for path in changed if path.suffix == _PYTHON]
            if program:
                return program
            self._samples_due.set()

    async def _tell_end(self, process: OperatorProcess) -> None:
        code = await process.wait()
        if self._failed is None:
            self._handle_message(Ended(code=code))

    def _orders(self, target: TargetCluster) -> dict[str, Any]:
        return {
            "targets": [*self._plan.targets],
            "kubeconfig": target.kubeconfig,
            "context": target.context,
            "embedded": target.embedded,
            "account_folder": target.account_folder,
            "namespaces": [*self._plan.namespaces],
            "pages": self._pages,
            "verbose": self._plan.verbose,
        }

    def _kill_process(self) -> None:
        if self._process is not None:
            self._process.kill()

    # Messages

    def _handle_message(self, message: Message) -> None:
        match message:
            case Loaded():
                self._kinds = message.kinds
                self._watch_files(message.files)
                if self._console is not None:
                    self._console.extend(message.extensions)
            case Installed() if self._watching is not None:
                self._watching.follow(self._kinds)
            case Ready():
                self._pages = message.address or _FREE_PORT
                self._samples_due.set()
                if self._console is not None:
                    self._console.operator_at(message.address)
            case Failed() if message.what != "sample":
                self._failed = message
                if message.what == "import" or message.files:
                    self._watch_folders(message.files)
        self._view.show(message)

    def _watch_files(self, files: Iterable[str | Path], folders: Iterable[Path] = ()) -> None:
        self._files = {path for path in map(Path, files) if not path.is_dir()}
        looked_at = dict.fromkeys(folders, (_PYTHON,)) | self._samples.folders
        self._sources.watch([*self._files, *self._samples.files], looked_at, since=self._began)

    def _watch_folders(self, files: Iterable[str]) -> None:
        """Also watches the folders of all files: the missing name may be in any file, also in a new one."""
        known = [*self._files, *(Path(file) for file in files), *paths_of(self._plan.targets)]
        self._watch_files(known, folders_of(known))

    async def _apply_samples(self, target: TargetCluster) -> None:
        while True:
            await self._samples_due.wait()
            self._samples_due.clear()
            try:
                await self._samples.apply(target.client)
            except ApiError as error:
                self._handle_message(Failed(what="sample", text=str(error)))

    async def _ticks(self) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            self._view.tick()


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
