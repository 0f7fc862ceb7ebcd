"""`operator.run()`: an operator as a program, with its event loop, its log, its signals and its exit code."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kubewright.cache import CacheSyncError
from kubewright.causes import error_text, only_cause
from kubewright.client import ApiError, ConfigError, NotKubernetes, Unauthorized
from kubewright.durations import format_duration
from kubewright.operator._running import Running
from kubewright.operator.logs import set_up_logging
from kubewright.operator.process._exit_codes import ExitCode
from kubewright.operator.process._signals import Signals
from kubewright.operator.process._usage import asks_for_help, usage
from kubewright.operator.settings import SettingError, Settings, from_environment, misspelled
from kubewright.user_code import THREAD_NAME_PREFIX

if TYPE_CHECKING:
    from kubewright.operator._operator import Operator

__all__ = ["resolve_settings", "run"]

logger = logging.getLogger("kubewright.operator")

_LAST_SECONDS = 1.0
_FAREWELL = 5.0  # seconds besides the grace period: for events, the lease, and what is attached


def run(
    operator: Operator,
    options: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
    *,
    shares_machine: bool = False,
) -> None:
    """Run until a signal. Returns after a graceful stop; raises `SystemExit` with another `ExitCode` otherwise.

    `python foo.py --help` shows how it is run, and does nothing.
    With `shares_machine` the API server runs on this machine: it is told of the webhooks, as in tests.
    """
    if asks_for_help(sys.argv):
        print(usage(operator, sys.argv[0]))
        return
    code = _run(operator, options, os.environ if environ is None else environ, shares_machine=shares_machine)
    if code is not ExitCode.STOPPED:
        raise SystemExit(int(code))


def resolve_settings(operator: Operator, options: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """What counts: what this run was given, else what variables say, else what the operator was made with."""
    return replace(operator.settings, **{**from_environment(environ), **options})


def _run(
    operator: Operator, options: Mapping[str, Any], environ: Mapping[str, str], *, shares_machine: bool
) -> ExitCode:
    try:
        settings = resolve_settings(operator, options, environ)
    except SettingError as error:
        set_up_logging(operator.settings)
        logger.error("%s", error)
        return ExitCode.CONFIGURATION
    set_up_logging(settings)
    for variable, meant in misspelled(environ):
        logger.warning("the variable %s means nothing; did you mean %s?", variable, meant)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        threads = ThreadPoolExecutor(thread_name_prefix=f"{THREAD_NAME_PREFIX}helper")
        runner.get_loop().set_default_executor(threads)
        try:
            code = runner.run(_main(operator, settings, shares_machine=shares_machine))
        except Exception as error:
            code = _explain(error)
        threads.shutdown(wait=False, cancel_futures=True)
        _leave_threads_behind(code)  # here, since the end of the event loop would wait for them
        return code


def _explain(error: Exception) -> ExitCode:
    """One line for what is foreseen, and a traceback for what is not."""
    from kubewright.crd import InstallError  # what is not needed to start, such as all of apiextensions/v1
    from kubewright.election import NotLeader
    from kubewright.webhook.certificates import CertificateError

    match only_cause(error):
        case NotLeader():
            code = ExitCode.LEASE_LOST
        case ConfigError() | SettingError() | Unauthorized() | NotKubernetes():
            code = ExitCode.CONFIGURATION
        case CacheSyncError() | ApiError() | InstallError() | CertificateError():
            code = ExitCode.NOT_READY
        case _:
            logger.error("the operator failed: %s", error_text(error), exc_info=error)
            return ExitCode.FAILED
    logger.error("%s", only_cause(error))
    logger.debug("where that came from", exc_info=error)
    return code


def _leave_threads_behind(code: ExitCode) -> None:
    """End the process although a plain reconciler does not: Python itself would wait for its thread for ever."""
    patience = time.monotonic() + _LAST_SECONDS
    for thread in threading.enumerate():
        if not thread.name.startswith(THREAD_NAME_PREFIX):
            continue
        thread.join(max(patience - time.monotonic(), 0.0))
        if thread.is_alive():
            logger.error("%s does not end; leaving without it", thread.name)
            logging.shutdown()
            os._exit(code or ExitCode.INTERRUPTED)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on every platform
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _main(operator: Operator, settings: Settings, *, shares_machine: bool) -> ExitCode:
    running = Running(
        operator, install_crds=bool(settings.install_crds), reach_first=not shares_machine, settings=settings
    )
    with Signals(running.stop_now) as signals:
        asked = asyncio.ensure_future(signals.first())
        try:
            with _no_collection():
                started = await _before(asked, running.__aenter__())
            if started:
                failure: Exception | None = None
                try:
                    await _before(asked, running.wait_for_failure())
                except Exception as error:
                    failure = error
                    raise
                finally:
                    await _stop(running, failure)
        finally:
            asked.cancel()
    return ExitCode.INTERRUPTED if running.interrupted else ExitCode.STOPPED


async def _stop(running: Running, failure: Exception | None) -> None:
    """Stop. After a signal, whoever sent it ends the process if something hangs here; after a failure nobody would."""
    if failure is None:
        running.webhooks.expect_end()
    ending = asyncio.ensure_future(running.__aexit__(None, None, None))
    patience = None if failure is None else running.settings.grace + _FAREWELL
    await asyncio.wait([ending], timeout=patience)
    if failure is None or ending.done():
        return await ending
    code = _explain(failure)
    logger.error("the operator does not end within %s; leaving", format_duration(patience or 0.0))
    logging.shutdown()
    os._exit(code)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Around the filling of the caches: what is made there stays, and so does what was there before.

    To look for garbage among it again and again took a third of the time in which 10,000 objects are listed; and later
    a full collection would stall everything for 30 ms.
    """
    gc.freeze()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


async def _before(asked: asyncio.Future[None], work: Coroutine[Any, Any, object]) -> bool:
    """Whether the work was finished before a signal came; else it is cancelled, and its end waited for."""
    task = asyncio.ensure_future(work)
    either: list[asyncio.Future[Any]] = [asked, task]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        await task
        return True
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return False
