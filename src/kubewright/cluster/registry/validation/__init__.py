"""Validation of built-in kinds: pure functions from a spec to field errors.

Messages and their order are those of kube-apiserver.
"""

from __future__ import annotations
