"""The settings of operators that run inside of an explored run."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["UNSERVED"]

UNSERVED: Final[dict[str, Any]] = {
    "leader_elect": False,
    "metrics_bind": "0",
    "health_bind": "0",
    "webhook_bind": "0",
    "tracing": False,
}
"""No leader election, and no servers."""
