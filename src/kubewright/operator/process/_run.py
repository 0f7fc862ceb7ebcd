"""`operator.run()`: an operator as a process, with event loop, logging, signals and exit code."""

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
from typing import Any, Final

from kubewright.cache import CacheSyncError
from kubewright.causes import error_text, only_cause
from kubewright.client import ApiError, ConfigError, NotKubernetes, Unauthorized
from kubewright.durations import format_duration
from kubewright.operator._running import Running
from kubewright.operator.definition import OperatorDefinition
from kubewright.operator.logs import set_up_logging
from kubewright.operator.process._exit_codes import ExitCode
from kubewright.operator.process._signals import Signals
from kubewright.operator.process._usage import asks_for_help, usage
from kubewright.operator.settings import SettingError, Settings, from_environment, misspelled
from kubewright.tasks import cancel_and_wait
from kubewright.user_code import THREAD_NAME_PREFIX

__all__ = ["report_failure", "resolve_settings", "run"]

logger = logging.getLogger("kubewright.operator")

_THREAD_SECONDS: Final = 1.0
_SHUTDOWN_SECONDS = 5.0  # in addition to the grace period: for events, the lease, and attached components


def run(
    operator: OperatorDefinition,
    options: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
    *,
    shares_machine: bool = False,
) -> None:
    """Runs until a signal. Returns after a graceful stop, and raises `SystemExit` with an `ExitCode` otherwise.

    With `--help` in the arguments of the program, prints the usage and returns. With `shares_machine`, the API server
    runs on this machine, and the configurations of webhooks are installed as in tests.
    """
    if asks_for_help(sys.argv):
        print(usage(operator, sys.argv[0]))
        return
    code = _run(operator, options, os.environ if environ is None else environ, shares_machine=shares_machine)
    if code is not ExitCode.STOPPED:
        raise SystemExit(int(code))


def resolve_settings(operator: OperatorDefinition, options: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Returns the settings of a process: its options, then environment variables, then the arguments of `Operator`."""
    return operator.settings_with(**{**from_environment(environ), **options})


def _run(
    operator: OperatorDefinition, options: Mapping[str, Any], environ: Mapping[str, str], *, shares_machine: bool
) -> ExitCode:
    try:
        settings = resolve_settings(operator, options, environ)
    except SettingError as error:
        set_up_logging(operator.settings)
        logger.error("%s", error)
        return ExitCode.CONFIGURATION
    set_up_logging(settings)
    for variable, meant in misspelled(environ):
        logger.warning("unknown environment variable %s; did you mean %s?", variable, meant)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        threads = ThreadPoolExecutor(thread_name_prefix=f"{THREAD_NAME_PREFIX}helper")
        runner.get_loop().set_default_executor(threads)
        try:
            code = runner.run(_main(operator, settings, shares_machine=shares_machine))
        except Exception as error:
            code = report_failure(error)
        threads.shutdown(wait=False, cancel_futures=True)
        _exit_if_threads_hang(code)  # before the event loop closes, which would wait for them
        return code


def report_failure(error: Exception) -> ExitCode:
    """Logs one line for an expected failure and a traceback for any other. Returns the exit code."""
    from kubewright.crd import InstallError  # not needed to start, and imports all of apiextensions/v1
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
    logger.debug("traceback of the failure", exc_info=error)
    return code


def _exit_if_threads_hang(code: ExitCode) -> None:
    """Exits although a plain reconciler does not return: Python would wait for its thread indefinitely."""
    deadline = time.monotonic() + _THREAD_SECONDS
    for thread in threading.enumerate():
        if not thread.name.startswith(THREAD_NAME_PREFIX):
            continue
        thread.join(max(deadline - time.monotonic(), 0.0))
        if thread.is_alive():
            logger.error("thread %s does not end; exiting without it", thread.name)
            logging.shutdown()
            os._exit(code or ExitCode.INTERRUPTED)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on every platform
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _main(operator: OperatorDefinition, settings: Settings, *, shares_machine: bool) -> ExitCode:
    running = Running(
        operator, install_crds=bool(settings.install_crds), check_server=not shares_machine, settings=settings
    )
    with Signals(running.stop_now) as signals:
        signaled = asyncio.ensure_future(signals.first())
        try:
            with _collection_disabled():
                started = await _before(signaled, running.__aenter__())
            if started:
                failure: Exception | None = None
                try:
                    await _before(signaled, running.wait_for_failure())
                except Exception as error:
                    failure = error
                    raise
                finally:
                    await _stop(running, failure)
        finally:
            signaled.cancel()
    return ExitCode.INTERRUPTED if running.interrupted else ExitCode.STOPPED


async def _stop(running: Running, failure: Exception | None) -> None:
    """Stops the run. After a failure, exits if the stop hangs; after a signal, the sender kills the process."""
    if failure is None:
        running.webhooks.start_draining()
    ending = asyncio.ensure_future(running.__aexit__(None, None, None))
    timeout = None if failure is None else running.settings.grace + _SHUTDOWN_SECONDS
    await asyncio.wait([ending], timeout=timeout)
    if failure is None or ending.done():
        return await ending
    code = report_failure(failure)
    logger.error("the operator does not stop within %s; exiting", format_duration(timeout or 0.0))
    logging.shutdown()
    os._exit(code)


@contextmanager
def _collection_disabled() -> Iterator[None]:
    """Disables garbage collection while the caches fill, and freezes the objects that exist by then.

    Nearly all of these objects stay alive. Collections would take a third of the time to list 10,000 objects, and a
    later full collection would stall the process for 30 ms.
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


async def _before(signaled: asyncio.Future[None], work: Coroutine[Any, Any, object]) -> bool:
    """Returns whether the work finished before the signal. Otherwise cancels it and waits for its end."""
    task = asyncio.ensure_future(work)
    either: list[asyncio.Future[Any]] = [signaled, task]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        await task
        return True
    await cancel_and_wait(task)
    return False
