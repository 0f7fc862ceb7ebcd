"""`ObjectLogger`: a logger whose lines name an object."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from kubewright.cache import ObjectKey
from kubewright.client import Trace

__all__ = ["ObjectLogger"]

_logger = logging.getLogger("kubewright.controller")


class ObjectLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines start with the object. Its records carry `controller`, `kind`, `object` and `trace`."""

    def __init__(self, controller: str, kind: str, key: ObjectKey, trace: Trace | None = None) -> None:
        super().__init__(_logger.getChild(controller), {"controller": controller, "kind": kind, "object": str(key)})
        self._trace = trace
        self._prefix = f"{kind} {key}: ".replace("%", "%%")

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Adds the object to the line and to the record."""
        traced = {"trace": str(self._trace)} if self._trace is not None else {}
        kwargs["extra"] = {**(self.extra or {}), **traced, **(kwargs.get("extra") or {})}
        return f"{self._prefix}{msg}", kwargs
