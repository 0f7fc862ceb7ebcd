"""Pausing an object: an annotation that users set, and how its value is read.

The annotation is user input. No controller writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubewright.redaction import one_line

__all__ = ["PAUSED", "PAUSED_BY_ANNOTATION", "PAUSE_ANNOTATION", "pause_of"]

PAUSE_ANNOTATION: Final = "kubewright.dev/paused"
"""The default annotation."""
PAUSED: Final = "Paused"
"""The type of the condition that shows the pause."""
PAUSED_BY_ANNOTATION: Final = "PausedByAnnotation"
"""The reason of that condition. A condition `Paused` with another reason belongs to the user's program."""

_SHOWN: Final = 40


def pause_of(annotations: Mapping[str, str], annotation: str = PAUSE_ANNOTATION) -> str:
    """Returns the annotation that pauses an object, as `kubewright.dev/paused="true"`; empty if it is not paused.

    Every value except "false", in any case, pauses the object. So "True" and "yes" do what their author meant: an
    operator that waits is easier to correct than one that writes although its user has paused it.
    """
    value = annotations.get(annotation)
    if value is None or value.strip().lower() == "false":
        return ""
    shown = one_line(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")
    return f'{annotation}="{shown}"'
