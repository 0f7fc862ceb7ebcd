"""Whether an operator makes spans."""

from __future__ import annotations

import sys

from kubewright.observe import Tracing
from kubewright.operator.settings import SettingError, Settings

__all__ = ["tracing_of"]

_SDK = "opentelemetry.sdk.trace"


def tracing_of(settings: Settings) -> Tracing | None:
    """As the settings say; unless they do, when the program, or what started it, has loaded OpenTelemetry's SDK.

    Raises `SettingError` when they ask for spans and OpenTelemetry is not installed.
    """
    wanted = _SDK in sys.modules if settings.tracing is None else settings.tracing
    try:
        return Tracing() if wanted else None
    except ImportError as error:  # asked for, and not installed: that is for the user to change
        raise SettingError(str(error)) from None
