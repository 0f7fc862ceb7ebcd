"""`Discreet`: values with something in them that nobody is to read in a log or a traceback."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["Discreet"]


class Discreet:
    """A mixin for structs: `repr` leaves out the fields that `unshown` names."""

    __slots__ = ()

    unshown: ClassVar[frozenset[str]]
    __struct_fields__: ClassVar[tuple[str, ...]]

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in self.unshown]
        return f"{type(self).__name__}({', '.join(shown)})"
