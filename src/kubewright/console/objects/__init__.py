"""Information about an object: its state, conditions, events, owned objects and reconcile timeline.

Everything here computes plain values from plain values; nothing opens a connection or draws a page. Objects of a
cluster are untrusted input: values of a wrong type count as absent.
"""

from __future__ import annotations

from kubewright.console.objects._ancestry import OWNER_LEVELS, OWNERS, Ancestry, OwnerReference, owner_references
from kubewright.console.objects._conditions import (
    Condition,
    ConditionHistory,
    Transition,
    conditions_of,
    count_conditions,
    problems_first,
)
from kubewright.console.objects._events import EVENT_PATHS, EventIndex, EventLine, EventSubject, event_lines
from kubewright.console.objects._facts import Fact, FactGroup, facts_of
from kubewright.console.objects._log_lines import LEVELS, ContainerLine, fold_repeats, level_of, select_lines
from kubewright.console.objects._ownership import Node, Tree, child_kinds, owned_tree, with_dependents
from kubewright.console.objects._redaction import REDACTED, is_secret, redact_secret, without_managed_fields
from kubewright.console.objects._timeline import (
    RESULT_STATES,
    ReconcileEntry,
    WriteEntry,
    ago,
    elapsed,
    queue_id,
    queue_text,
    reconcile_entries,
    resource_of,
    until,
)
from kubewright.console.objects._untrusted import decode_object, parse_time
from kubewright.console.objects.states import OVERDUE, Concern, Health, State, health_of, state_of, with_failure

__all__ = [
    "EVENT_PATHS",
    "LEVELS",
    "OVERDUE",
    "OWNERS",
    "OWNER_LEVELS",
    "REDACTED",
    "RESULT_STATES",
    "Ancestry",
    "Concern",
    "Condition",
    "ConditionHistory",
    "ContainerLine",
    "EventIndex",
    "EventLine",
    "EventSubject",
    "Fact",
    "FactGroup",
    "Health",
    "Node",
    "OwnerReference",
    "ReconcileEntry",
    "State",
    "Transition",
    "Tree",
    "WriteEntry",
    "ago",
    "child_kinds",
    "conditions_of",
    "count_conditions",
    "decode_object",
    "elapsed",
    "event_lines",
    "facts_of",
    "fold_repeats",
    "health_of",
    "is_secret",
    "level_of",
    "owned_tree",
    "owner_references",
    "parse_time",
    "problems_first",
    "queue_id",
    "queue_text",
    "reconcile_entries",
    "redact_secret",
    "resource_of",
    "select_lines",
    "state_of",
    "until",
    "with_dependents",
    "with_failure",
    "without_managed_fields",
]
