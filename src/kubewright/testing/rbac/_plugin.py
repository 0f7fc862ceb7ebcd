"""`pytest --kubewright-rbac`: verifies the roles of all operators of a test run by their calls."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubewright.testing.rbac._recorder import CallRecorder, RbacReport

__all__ = ["RbacPlugin"]


class RbacPlugin:
    """Records the whole test run, and fails it if roles and calls do not match.

    It fails only a run whose tests passed: a failed test may have skipped the calls that use a permission.
    """

    def __init__(self, operators: Sequence[str]) -> None:
        self._recorder = CallRecorder(operators)
        self._reports: list[RbacReport] = []

    def pytest_sessionstart(self) -> None:
        """Starts recording."""
        self._recorder.start()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Compares roles and calls."""
        self._recorder.stop()
        self._reports = self._recorder.reports()
        if exitstatus == pytest.ExitCode.OK and not all(report.ok for report in self._reports):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Prints the reports."""
        terminalreporter.section("roles of operators (--kubewright-rbac)")
        if not self._reports:
            terminalreporter.line("no operator ran")
        for report in self._reports:
            terminalreporter.line(str(report), red=not report.ok)
