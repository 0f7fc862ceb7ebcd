"""Reports of operators: of one in this process, or of a remote one through its debug endpoints.

- `OperatorView` is the protocol: a report, the inspection of one object, and its log.
- `InProcess` queries an operator in this process. `Remote` queries `/debug/kubewright` of another process.
- `Operators` holds the operators of a console. Each is queried every two seconds, once for all pages. `WatchedOperator`
  keeps ten minutes of samples, so that charts have a history when a page opens.

Operators do not check permissions. Before showing an inspection, make sure that the viewer may `get` the object.
"""

from __future__ import annotations

from kubewright.console.operators._collection import ControllerRef, Operators
from kubewright.console.operators._in_process import InProcess
from kubewright.console.operators._problems import OperatorProblem, operator_problems
from kubewright.console.operators._remote import AddressError, Remote
from kubewright.console.operators._samples import Sample, latencies, percentile, rates
from kubewright.console.operators._view import BeforeAfter, ObjectInspection, OperatorUnavailable, OperatorView
from kubewright.console.operators._watched import WatchedOperator

__all__ = [
    "AddressError",
    "BeforeAfter",
    "ControllerRef",
    "InProcess",
    "ObjectInspection",
    "OperatorProblem",
    "OperatorUnavailable",
    "OperatorView",
    "Operators",
    "Remote",
    "Sample",
    "WatchedOperator",
    "latencies",
    "operator_problems",
    "percentile",
    "rates",
]
