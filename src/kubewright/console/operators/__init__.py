"""What operators know, from an operator in this process or from the pages that one serves elsewhere.

- `OperatorView` is the protocol: a report of the whole, what is known about one object, and the log about it.
- `InProcess` asks an operator of this process. `Remote` asks the pages under `/debug/kubewright` of one elsewhere.
- `Operators` are those of a console. Each is asked every two seconds, once for all pages, and its numbers are kept for
  ten minutes (`WatchedOperator`), so that charts have a past when a page is opened.

Whoever shows what an operator knows about an object must make sure that the viewer may `get` it: operators do not ask.
"""

from __future__ import annotations

from kubewright.console.operators._collection import ControllerRef, Operators
from kubewright.console.operators._in_process import InProcess
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
    "OperatorUnavailable",
    "OperatorView",
    "Operators",
    "Remote",
    "Sample",
    "WatchedOperator",
    "latencies",
    "percentile",
    "rates",
]
