"""Calls to admission and conversion webhooks."""

from __future__ import annotations
