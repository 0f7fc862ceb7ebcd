"""The public Python API as text, one line for each name with its signature.

    python -m tools.public_api            # fails if the API is not that of tests/public_api.txt
    python -m tools.public_api --update   # records the API of this tree

The API is what the rooms below name in their `__all__`, with the public members of classes. The built-in kinds are not
part of it: they are generated from Kubernetes' own description. The reference of the documentation has the same rooms.
"""

from __future__ import annotations

import contextlib
import difflib
import enum
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
RECORD: Final = ROOT / "tests" / "public_api.txt"
ROOMS: Final = (
    "api",
    "client",
    "crd",
    "codegen",
    "cache",
    "queue",
    "events",
    "election",
    "observe",
    "controller",
    "webhook",
    "operator",
    "olm",
    "cluster",
    "testing",
    "explore",
    "console",
    "clock",
    "yaml",
)
"""The rooms whose names are public, in the order of the reference."""
_WIDTH: Final = 100


def public_api() -> Iterator[str]:
    """Yields the lines of the API, sorted by room and name."""
    for room in ("kubewright", *(f"kubewright.{room}" for room in sorted(ROOMS))):
        door = importlib.import_module(room)
        for name in sorted(door.__all__):
            value = getattr(door, name)
            home = getattr(value, "__module__", "") or ""
            if not inspect.isclass(value) and not inspect.isfunction(value):
                yield f"{room}.{name}"
            elif described := next((one for one in _before(room) if _has(one, name, value)), ""):
                yield f"{room}.{name}: {described}.{name}"
            elif not home.startswith("kubewright"):
                yield f"{room}.{name}: {home}.{value.__qualname__}"
            elif inspect.isclass(value):
                yield from _class_lines(f"{room}.{name}", value)
            else:
                yield _line(f"{room}.{name}", value)


def _before(room: str) -> Iterator[str]:
    """Yields the rooms that describe a name first. The names of `kubewright` are described in their rooms."""
    rooms = [f"kubewright.{one}" for one in sorted(ROOMS)]
    yield from rooms if room == "kubewright" else rooms[: rooms.index(room)]


def _has(room: str, name: str, value: object) -> bool:
    door = importlib.import_module(room)
    return name in door.__all__ and getattr(door, name) is value


def _class_lines(path: str, cls: type) -> Iterator[str]:
    bases = [base.__name__ for base in cls.__bases__ if not base.__name__.startswith("_") and base is not object]
    yield f"class {path}({', '.join(bases)})"
    if isinstance(cls, enum.EnumMeta):
        yield from (f"{path}.{each.name} = {each.value!r}" for each in list[enum.Enum](cls))
        return
    with contextlib.suppress(TypeError, ValueError, NameError):  # no signature, or a name only for type checkers
        yield _line(f"{path}.__init__", cls)
    lines = []
    for member, value in members(cls, undocumented=True):
        if isinstance(value, property):
            returned = annotation(value.fget.__annotations__.get("return", "")) if value.fget else ""
            lines.append(f"{path}.{member}: {returned}")
        else:
            lines.append(_line(f"{path}.{member}", value))
    yield from sorted(lines)


def _line(path: str, function: Any) -> str:
    keyword = "async " if inspect.iscoroutinefunction(function) else ""
    return keyword + signature(path, function, width=sys.maxsize)


def members(cls: type, *, undocumented: bool = False) -> Iterator[tuple[str, Any]]:
    """Yields public methods and properties of a class and of its private bases, in the order of the source.

    With `undocumented`, also those that have no docstring, or that only pass on to another class.
    """
    seen: set[str] = set()
    for owner in cls.__mro__:
        public_elsewhere = owner is not cls and not owner.__module__.rpartition(".")[2].startswith("_")
        if public_elsewhere or not owner.__module__.startswith("kubewright"):
            continue
        for name, value in vars(owner).items():
            function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            callable_or_property = isinstance(function, property) or inspect.isfunction(function)
            # A method that only passes on to another class's is described there.
            borrowed = getattr(function, "__qualname__", owner.__qualname__).partition(".")[0] != owner.__qualname__
            if name.startswith("_") or name in seen or not callable_or_property:
                continue
            if undocumented or (not borrowed and inspect.getdoc(function)):
                seen.add(name)
                yield name, function


def signature(name: str, function: Any, width: int = _WIDTH) -> str:
    """A signature as it is written in the source, on several lines when it is long."""
    found = inspect.signature(function)
    parts, star = [], False
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        star = star or parameter.kind is parameter.VAR_POSITIONAL
        parts.append(parameter_text(parameter))
    answer = "" if found.return_annotation is found.empty else f" -> {annotation(found.return_annotation)}"
    line = f"{name}({', '.join(parts)}){answer}"
    if len(line) <= width:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){answer}"


def parameter_text(parameter: inspect.Parameter) -> str:
    """One parameter."""
    prefix = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    text = prefix + parameter.name
    typed = parameter.annotation is not parameter.empty
    if typed:
        text += f": {annotation(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f" = {shown(parameter.default)}" if typed else f"={shown(parameter.default)}"
    return text


def annotation(given: Any) -> str:
    """A type as people write it."""
    if isinstance(given, str):
        return given.strip("\"'")
    text: str = given.__name__ if inspect.isclass(given) and not hasattr(given, "__args__") else str(given)
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+([A-Za-z_]\w*)", r"\1", text)


def shown(value: object) -> str:
    """A default or a constant, short and the same in every build."""
    text = annotation(value) if hasattr(value, "__args__") else repr(value)
    text = re.sub(r"<.*>", "...", text)
    return text if len(text) <= 200 else "..."


def main() -> int:
    """Compares or records the API."""
    now = [*public_api()]
    if "--update" in sys.argv[1:]:
        RECORD.write_text("".join(f"{line}\n" for line in now), encoding="utf-8")
        print(f"{RECORD.relative_to(ROOT)}: {len(now)} lines")
        return 0
    if changes := differences(RECORD.read_text(encoding="utf-8").splitlines(), now):
        print("\n".join(changes), file=sys.stderr)
        return 1
    return 0


def differences(recorded: list[str], now: list[str]) -> list[str]:
    """Returns what changed, with what to do. Empty if nothing did."""
    lines = [*difflib.unified_diff(recorded, now, n=0, lineterm="")][2:]
    changed = [one for one in lines if not one.startswith("@@")]
    if not changed:
        return []
    removed = any(one.startswith("-") for one in changed)
    advice = "A removed or changed line breaks programs: name it in the changelog. " if removed else ""
    return [*changed, f"The public API changed. {advice}Record it: python -m tools.public_api --update"]


if __name__ == "__main__":
    sys.exit(main())
