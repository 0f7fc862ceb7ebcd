"""Dispatch: authorizes and parses a request, and calls the code of its verb."""

from __future__ import annotations
