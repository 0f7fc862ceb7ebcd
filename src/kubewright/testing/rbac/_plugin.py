"""`pytest --kubewright-rbac`: the roles of all operators of a test run, verified by their calls."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubewright.testing.rbac._recorder import CallRecorder, RbacReport

__all__ = ["RbacPlugin"]


class RbacPlugin:
    """Listens during the whole run, and lets it fail when roles and calls do not fit.

    What nothing used is told only when the tests passed: a test that failed may have been the one to use it.
    """

    def __init__(self, operators: Sequence[str]) -> None:
        self._recorder = CallRecorder(operators)
        self._reports: list[RbacReport] = []

    def pytest_sessionstart(self) -> None:
        """Begin to listen."""
        self._recorder.start()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Judge."""
        self._recorder.stop()
        self._reports = self._recorder.reports()
        if exitstatus == pytest.ExitCode.OK and not all(report.ok for report in self._reports):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Tell."""
        terminalreporter.section("roles of operators (--kubewright-rbac)")
        if not self._reports:
            terminalreporter.line("no operator ran")
        for report in self._reports:
            terminalreporter.line(str(report), red=not report.ok)
