"""Storage: all objects in memory, with one revision counter, a history for watches, and snapshots in a file."""

from __future__ import annotations
