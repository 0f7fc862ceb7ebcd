"""`fields_of`: the fields of a model, resolved once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from kubewright.api._model import Model

__all__ = ["fields_of"]


@cache  # msgspec evaluates annotations in each call; this grows with the models that are used, not with the objects
def fields_of(model: type[Model] | type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Returns the fields of a model with resolved annotations. Raises NameError for a class that does not exist yet."""
    return msgspec.structs.fields(model)
