"""What strict field validation finds, in the server's words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubewright.cluster.machinery._duplicate_fields import duplicate_fields
from kubewright.cluster.schema._node import Schema
from kubewright.cluster.schema._pruning import unknown_fields

__all__ = ["strict_decoding_message", "strict_errors"]

_MOST: Final = 100  # the server stops to count there


def strict_errors(schema: Schema, obj: Any, text: bytes = b"") -> list[str]:
    """`duplicate field "spec.a"` for what stands twice in the request's JSON, `unknown field "spec.b"` for the rest."""
    found = [f'duplicate field "{path}"' for path in duplicate_fields(text)] if text else []
    return [*found, *(f'unknown field "{path}"' for path in unknown_fields(schema, obj))][:_MOST]


def strict_decoding_message(errors: Iterable[str]) -> str:
    """The message of a request that is refused for them."""
    return "strict decoding error: " + ", ".join(errors)
