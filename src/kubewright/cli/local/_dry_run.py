"""`kubewright run --dry-run`: print what an operator would change."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import click
import msgspec

from kubewright.cache import CacheSyncError
from kubewright.causes import only_cause
from kubewright.cli.common._exit_codes import CommandExit, WrongUse, differs
from kubewright.cli.common._output import Output
from kubewright.client import ApiError, ConfigError, NotKubernetes, Unauthorized
from kubewright.counts import counted
from kubewright.operator import DryRunRefused, DryRunReport, Operator, SettingError
from kubewright.operator.dry_run import ObjectChange, ValueChange, dry_run
from kubewright.operator.logs import set_up_logging
from kubewright.operator.process import resolve_settings

__all__ = ["print_dry_run"]

_SIGNS: Final = {"create": "+", "update": "~", "delete": "-", "recreate": "±"}
_FIELD_SIGNS: Final = {"add": "+", "replace": "~", "remove": "-"}
_DONE: Final = {"create": "created", "update": "updated", "delete": "deleted", "recreate": "recreated"}
_FIELDS_AT_MOST: Final = 100
_LONGEST_VALUE: Final = 160


def print_dry_run(operator: Operator, options: Mapping[str, Any], timeout: float, output: Output) -> None:
    """Prints the changes. Exits with `DIFFERS` if there are some, and with `FAILED` if a reconcile failed."""
    try:
        settings = resolve_settings(operator, options, os.environ)
        set_up_logging(settings)
        with output.waiting("Reconciling every object as a dry run"):
            report = asyncio.run(dry_run(operator, None, settings, timeout=timeout))
    except (DryRunRefused, SettingError) as error:
        raise WrongUse(str(error)) from error
    except Exception as error:
        match only_cause(error):
            case ConfigError() | NotKubernetes() | Unauthorized() as cause:
                raise WrongUse(str(cause)) from error
            case ApiError() | CacheSyncError() as cause:
                raise click.ClickException(str(cause)) from error
        raise
    for change in report.changes:
        _print_change(change, output)
    _print_rest(report, output)
    output.document(**msgspec.to_builtins(report, str_keys=True))
    if report.failures:
        raise click.exceptions.Exit(CommandExit.FAILED)
    if report.changes:
        differs()


def _print_change(change: ObjectChange, output: Output) -> None:
    output.line(f"{_SIGNS[change.action]} {change}")
    for field in change.fields[:_FIELDS_AT_MOST]:
        output.line(f"    {_FIELD_SIGNS[field.op]} {field.path}: {_values(field)}")
    more = len(change.fields) + change.more_fields - _FIELDS_AT_MOST
    if more > 0:
        output.line(f"    and {more} more fields")
    for note in change.notes:
        output.line(f"    note: {note}")


def _values(field: ValueChange) -> str:
    shown = [_value(value) for value in (field.before, field.after) if value is not msgspec.UNSET]
    return " → ".join(shown)


def _value(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _print_rest(report: DryRunReport, output: Output) -> None:
    for failure in report.failures:
        output.line(f"! {failure}, controller {failure.controller}: {failure.error}")
    for waiting in report.waiting:
        output.line(f"waiting: {waiting}: {waiting.error}")
    for text in report.not_shown:
        output.line(f"not shown: {text}")
    counts = Counter(change.action for change in report.changes)
    changes = ", ".join(f"{count} {_DONE[action]}" for action, count in counts.items()) or "no changes"
    failed = f"; {len(report.failures)} failed" if report.failures else ""
    objects = counted(report.reconciled, "object")
    output.line(f"{objects} reconciled as a dry run: {changes}{failed}")
