"""The log of an operator's process: formatters, setup, and the last lines about each object.

`set_up_logging` writes the log to standard error: readable lines on a terminal, one JSON object per line elsewhere.
`keeping_logs` copies the lines about objects into a `LogBook`, for the debug pages.
"""

from __future__ import annotations

from kubewright.operator.logs._formatters import JsonFormatter, PrettyFormatter, set_up_logging
from kubewright.operator.logs._objects import keeping_logs

__all__ = ["JsonFormatter", "PrettyFormatter", "keeping_logs", "set_up_logging"]
