"""How probes are judged."""

from __future__ import annotations

import pytest

from tests.attacks.prober import Outcome
from tests.attacks.probing import PAGE, RENEWAL, judge


def outcome(*, page: float = 0.0, lease: float = 0.0, starved: float = 0.0, error: str = "") -> Outcome:
    return Outcome(began=0.0, page_seconds=page, lease_seconds=lease, starved_seconds=starved, error=error)


def test_time_without_a_cpu_is_not_late() -> None:
    assert judge(outcome(page=PAGE, lease=RENEWAL, starved=100.0)) == ""


@pytest.mark.parametrize(
    ("late", "message"),
    [
        (outcome(page=PAGE + 0.1), "a probe was answered after 1.10 s"),
        (outcome(lease=RENEWAL + 0.1), "a lease was renewed after 10.10 s"),
        (outcome(starved=3.0, error="ConnectionResetError: x"), "a probe failed: ConnectionResetError: x"),
    ],
)
def test_late_and_failed_probes_fail(late: Outcome, message: str) -> None:
    assert judge(late).startswith(message)
