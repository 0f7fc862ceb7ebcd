"""Shared types of the API server: resource types, parsed requests, responses, errors, and the codecs of bodies.

Everything here is independent of the state of a server; `_resources` is the contract that the other folders share.
The exported names are pure functions and tables that are useful without a server: Go's rules for decoding, cron
schedules, and the requests that the embedded cluster does not support.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster.machinery._cron_schedules import Schedule, schedule_problem
    from kubewright.cluster.machinery._duplicate_fields import duplicate_fields
    from kubewright.cluster.machinery._go_types import go_type_of, read_metadata, reader_of
    from kubewright.cluster.machinery._json_syntax import syntax_problem
    from kubewright.cluster.machinery._resources import ReadProblem, ResourceType, UnreadableObject
    from kubewright.cluster.machinery._responses import ApiResponse
    from kubewright.cluster.machinery._slow_callbacks import SlowCallbacks
    from kubewright.cluster.machinery._unsupported import REFUSED_PAGES, REFUSED_SUBRESOURCES, REFUSED_WRITES

__all__ = [
    "REFUSED_PAGES",
    "REFUSED_SUBRESOURCES",
    "REFUSED_WRITES",
    "ApiResponse",
    "ReadProblem",
    "ResourceType",
    "Schedule",
    "SlowCallbacks",
    "UnreadableObject",
    "duplicate_fields",
    "go_type_of",
    "read_metadata",
    "reader_of",
    "schedule_problem",
    "syntax_problem",
]

_MODULES = {
    "ReadProblem": "_resources",
    "ResourceType": "_resources",
    "SlowCallbacks": "_slow_callbacks",
    "UnreadableObject": "_resources",
    "go_type_of": "_go_types",
    "read_metadata": "_go_types",
    "reader_of": "_go_types",
    "duplicate_fields": "_duplicate_fields",
    "Schedule": "_cron_schedules",
    "schedule_problem": "_cron_schedules",
    "syntax_problem": "_json_syntax",
    "REFUSED_PAGES": "_unsupported",
    "REFUSED_SUBRESOURCES": "_unsupported",
    "REFUSED_WRITES": "_unsupported",
    "ApiResponse": "_responses",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
