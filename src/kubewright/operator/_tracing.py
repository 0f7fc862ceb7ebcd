"""Whether an operator makes spans."""

from __future__ import annotations

import sys

from kubewright.observe import Tracing
from kubewright.operator._settings import Settings

__all__ = ["tracing_of"]

_SDK = "opentelemetry.sdk.trace"


def tracing_of(settings: Settings) -> Tracing | None:
    """As the settings say; unless they do, when the program, or what started it, has loaded OpenTelemetry's SDK."""
    wanted = _SDK in sys.modules if settings.tracing is None else settings.tracing
    return Tracing() if wanted else None
