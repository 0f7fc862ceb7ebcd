"""The HTML report: each finding with its timeline beside that of the undisturbed run."""

from __future__ import annotations

from html import escape

from kubewright.explore.model import Report
from kubewright.explore.reports._text import fault_words, summary_lines

__all__ = ["html_report"]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; color: #1b1f24 }
h2 { border-top: 1px solid #d0d7de; padding-top: 1rem }
.columns { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem }
pre { background: #f6f8fa; padding: .75rem; overflow-x: auto; font-size: 12px }
@media (max-width: 60rem) { .columns { grid-template-columns: 1fr } }
"""


def html_report(report: Report, name: str) -> str:
    """Returns a page that needs no other file."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        f"<title>kubewright explore {escape(name)}</title><style>{_STYLE}</style>",
        f"<h1>kubewright explore {escape(name)}</h1>",
        "<ul>",
        *(f"<li>{escape(line)}</li>" for line in summary_lines(report)),
        "</ul>",
    ]
    if report.error:
        parts.append(f"<p><strong>Not explored:</strong> {escape(report.error)}</p>")
    if not report.findings:
        parts.append("<p>No findings.</p>")
    for number, finding in enumerate(report.findings, 1):
        parts.append(f"<h2>{number}. {escape(finding.oracle)}</h2><p>{escape(finding.summary)}</p>")
        faults = finding.plan.faults if finding.plan is not None else ()
        items = [*finding.details, *(f"Fault: {fault_words(fault)}" for fault in faults)]
        parts += ["<ul>", *(f"<li>{escape(item)}</li>" for item in items), "</ul>"]
        parts += [
            "<div class=columns>",
            f"<div><h3>This run</h3><pre>{escape(chr(10).join(finding.story))}</pre></div>",
            f"<div><h3>Undisturbed run</h3><pre>{escape(chr(10).join(finding.undisturbed))}</pre></div>",
            "</div>",
        ]
    return "\n".join([*parts, "</html>", ""])
