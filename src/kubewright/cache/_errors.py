"""`CacheSyncError`: a cache did not fill, and why."""

from __future__ import annotations

from collections.abc import Mapping

from kubewright.api import Object, info_of
from kubewright.client import ApiError, ConfigError, Forbidden, NotFound, NotKubernetes, Unauthorized, Unavailable
from kubewright.durations import format_duration
from kubewright.redaction import one_line

__all__ = ["CacheSyncError", "explain"]


class CacheSyncError(Exception):
    """Caches that were not in sync in time. `reasons` has the reason for each kind."""

    def __init__(self, seconds: float, reasons: Mapping[str, str]) -> None:
        self.seconds = seconds
        self.reasons = dict(reasons)
        each = "; ".join(f"{kind}: {reason}" for kind, reason in self.reasons.items())
        super().__init__(f"not in sync after {format_duration(seconds)}: {each}")


def explain(error: BaseException, kind: type[Object], verb: str) -> str:
    """Returns the reason of a failure in one line, for the log, `CacheSyncError` and health pages."""
    info = info_of(kind)
    resource = f"{info.plural}.{info.group}" if info.group else info.plural
    if isinstance(error, Forbidden):
        return f"the verb {verb!r} on {resource} is forbidden: {one_line(error.status.message) or error}"
    if isinstance(error, NotFound):
        return f"the server does not serve {resource} in version {info.version}: install its definition first"
    if isinstance(error, Unauthorized):
        return str(error)
    if isinstance(error, NotKubernetes):
        return f"this is not a Kubernetes API server: {error}"
    if isinstance(error, Unavailable):
        return f"the server cannot be reached: {error}"
    return str(error) if isinstance(error, ApiError | ConfigError) else f"{type(error).__name__}: {error}"
