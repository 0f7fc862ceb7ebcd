"""Strict field validation, with the messages of the server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubewright.cluster.machinery._duplicate_fields import duplicate_fields
from kubewright.cluster.schema._node import Schema
from kubewright.cluster.schema._pruning import unknown_fields

__all__ = ["strict_decoding_message", "strict_errors"]

_MAX_ERRORS: Final = 100  # the server's limit


def strict_errors(schema: Schema, obj: Any, text: bytes = b"") -> list[str]:
    """Returns `duplicate field "spec.a"` for duplicates in the request's JSON, and `unknown field "spec.b"`."""
    found = [f'duplicate field "{path}"' for path in duplicate_fields(text)] if text else []
    return [*found, *(f'unknown field "{path}"' for path in unknown_fields(schema, obj))][:_MAX_ERRORS]


def strict_decoding_message(errors: Iterable[str]) -> str:
    """Returns the message of a request that is rejected for these errors."""
    return "strict decoding error: " + ", ".join(errors)
