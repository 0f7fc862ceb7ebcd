"""`ObjectPriority`: the priority of an object in the queue, from the user's function."""

from __future__ import annotations

import logging
from typing import Generic, TypeVar

from kubewright.api import DecodeError, Object
from kubewright.cache import Lister, ObjectKey
from kubewright.controller.registration import PriorityFunction
from kubewright.signatures import name_of
from kubewright.user_code import has_to_pass

__all__ = ["ObjectPriority"]

R = TypeVar("R", bound=Object)

_logger = logging.getLogger("kubewright.controller")


class ObjectPriority(Generic[R]):
    """Returns the priority of the cached object; 0 for one that is absent or undecodable, and if the function fails."""

    def __init__(self, function: PriorityFunction[R], lister: Lister[R]) -> None:
        self._function = function
        self._lister = lister

    def __call__(self, key: ObjectKey) -> int:
        try:
            obj = self._lister.get_key(key)
        except DecodeError:  # reported when the key is processed
            return 0
        if obj is None:
            return 0
        try:
            found: object = self._function(obj)
            if isinstance(found, bool) or not isinstance(found, int):
                raise TypeError(f"it must return a whole number, but returned {found!r}")
        except BaseException as error:
            if has_to_pass(error):
                raise
            _logger.exception("the priority function %s failed for %s; its priority is 0", name_of(self._function), key)
            return 0
        return found
