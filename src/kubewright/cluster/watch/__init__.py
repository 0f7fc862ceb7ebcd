"""Watches: events since a revision, streamed to clients."""

from __future__ import annotations
