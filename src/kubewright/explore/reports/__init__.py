"""Reports: findings as text, JSON, JUnit, HTML, and as pytest tests; plans as files that can be replayed."""

from __future__ import annotations

from kubewright.explore.reports._files import PlanFile, load_plan, pytest_source, save_plan
from kubewright.explore.reports._html import html_report
from kubewright.explore.reports._machine import json_report, junit_report
from kubewright.explore.reports._text import fault_words, finding_lines, step_words, story_lines, summary_lines

__all__ = [
    "PlanFile",
    "fault_words",
    "finding_lines",
    "html_report",
    "json_report",
    "junit_report",
    "load_plan",
    "pytest_source",
    "save_plan",
    "step_words",
    "story_lines",
    "summary_lines",
]
