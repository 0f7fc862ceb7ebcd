"""The results as text: one Markdown table for each case, which also reads well in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import Case, Results

__all__ = ["case_table", "heading"]


def heading(results: Results) -> str:
    """What was compared, and on what."""
    machine = results.machine
    programs = ", ".join(f"{name} {version}" for name, version in results.programs.items())
    return (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, kube-apiserver {results.kubernetes}; load at the start {machine['load']}\n"
        f"{programs}"
    )


def case_table(case: Case) -> str:
    """The medians of a case, each with its ratio to the reference in brackets."""
    middle, multiples = case.medians(), case.ratios()
    rows = [["", *(column.heading for column in case.columns)]]
    for program, numbers in middle.items():
        row = [program]
        for column in case.columns:
            if column.name not in numbers:
                row.append("-")
                continue
            ratio = multiples[program].get(column.name)
            shown = f"{numbers[column.name]:.{column.decimals}f}"
            is_reference = program == case.reference
            row.append(shown if ratio is None or is_reference else f"{shown} ({ratio:.2f} x)")
        rows.append(row)
    return f"### {case.title}\n\n{_markdown(rows)}\n\nIn brackets: as a multiple of {case.reference}'s."


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
