"""How long a test waits before it counts as hanging."""

from __future__ import annotations

PATIENCE = 200.0
"""Seconds: below pytest's own limit of 300, so that the test says what it waited for, and far more than anything takes,
also on a machine that is busy or frozen for a while. No assertion about time: nothing may depend on it."""
