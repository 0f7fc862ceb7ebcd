"""Structs whose constructors explain wrong arguments.

msgspec's own TypeError for a wrong keyword names neither the class nor its fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from kubewright.suggestions import nearest

__all__ = ["ExplainingStructMeta"]

if TYPE_CHECKING:
    from msgspec import StructMeta as _StructMeta
else:
    _StructMeta = type(msgspec.Struct)  # older versions of msgspec do not export it

# The first words of msgspec's messages.
_MISSING, _POSITIONAL = "Missing required argument ", "Extra positional arguments"


class ExplainingStructMeta(_StructMeta):
    """A metaclass for structs: a TypeError of the constructor names the class, its fields and the closest match."""

    if not TYPE_CHECKING:

        def __call__(self, *args: Any, **fields: Any) -> Any:  # noqa: D102
            try:
                return super().__call__(*args, **fields)
            except TypeError as error:
                if (explained := _explained(self, fields, str(error))) is None:
                    raise
                raise TypeError(explained) from None


def _explained(struct: Any, given: Iterable[str], error: str) -> str | None:
    """Returns the message for wrong arguments; None if the arguments are not the problem."""
    known = struct.__struct_fields__
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        by_wire_name = dict(zip(struct.__struct_encode_fields__, known, strict=True))
        meant = by_wire_name.get(unknown) or nearest(unknown, known)
        hint = f" Did you mean {meant!r}?" if meant else ""
        return f"{struct.__name__} has no field {unknown!r}.{hint} The fields are: {', '.join(known)}"
    if error.startswith(_POSITIONAL) and known and not struct.__match_args__:
        return f"{struct.__name__} takes its fields by name: {', '.join(known)}"
    if error.startswith(_MISSING):
        return f"{struct.__name__} needs the field {error.removeprefix(_MISSING)}"
    return None
