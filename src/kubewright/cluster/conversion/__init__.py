"""Conversion between the versions of a resource and the version in which its objects are stored."""

from __future__ import annotations
