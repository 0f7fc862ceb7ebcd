"""Decides whether an operator creates spans."""

from __future__ import annotations

import sys
from typing import Final

from kubewright.observe import Tracing
from kubewright.operator.settings import SettingError, Settings

__all__ = ["tracing_of"]

_SDK: Final = "opentelemetry.sdk.trace"


def tracing_of(settings: Settings) -> Tracing | None:
    """Returns the tracing of a run. Default: enabled if the program has imported the OpenTelemetry SDK.

    Raises `SettingError` if the settings enable it and OpenTelemetry is not installed.
    """
    wanted = _SDK in sys.modules if settings.tracing is None else settings.tracing
    try:
        return Tracing() if wanted else None
    except ImportError as error:
        raise SettingError(str(error)) from None
