"""Reports for programs: JSON and JUnit."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET  # only written, never parsed

import msgspec

from kubewright.counts import counted
from kubewright.explore.model import Report
from kubewright.explore.reports._text import fault_words

__all__ = ["json_report", "junit_report"]


def json_report(report: Report) -> dict[str, Any]:
    """Returns the report as plain data."""
    found: dict[str, Any] = msgspec.to_builtins(report)
    for finding, plain in zip(report.findings, found["findings"], strict=True):
        plain["faults"] = [fault_words(fault) for fault in finding.plan.faults] if finding.plan else []
    return found


def junit_report(report: Report, name: str) -> str:
    """Returns the report as JUnit XML: one failed test case per finding, or one that passed."""
    suite = ET.Element(
        "testsuite",
        name=f"kubewright explore {name}",
        tests=str(max(len(report.findings), 1)),
        failures=str(len(report.findings)),
        errors="1" if report.error else "0",
        time=f"{report.seconds:.1f}",
    )
    if report.error:
        case = ET.SubElement(suite, "testcase", classname=name, name="undisturbed run")
        ET.SubElement(case, "error", message=report.error)
    elif not report.findings:
        ET.SubElement(suite, "testcase", classname=name, name=counted(report.runs, "run"))
    for finding in report.findings:
        case = ET.SubElement(suite, "testcase", classname=name, name=f"{finding.oracle} {finding.subject}".strip())
        failure = ET.SubElement(case, "failure", message=finding.summary)
        failure.text = "\n".join([*finding.details, *finding.story])
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)
