"""`Discreet`: values with something in them that nobody is to read in a log or a traceback."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["Discreet"]


class Discreet:
    """A mixin for structs: `repr`, and the rich library, leave out the fields that `unshown` names."""

    __slots__ = ()

    unshown: ClassVar[frozenset[str]]
    __struct_fields__: ClassVar[tuple[str, ...]]

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self.__rich_repr__()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.unshown]
