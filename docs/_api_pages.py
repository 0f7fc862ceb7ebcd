"""A Sphinx extension: the reference pages under `api/`, written from the doors of the rooms.

The docstrings are Markdown, as the pages are, so they go in as they stand. What is shown is what a door names in its
`__all__`, with signatures as they are written in the source.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

from tools.public_api import ROOMS, members, shown, signature

_FOLDER = "api"


def setup(app: Sphinx) -> dict[str, object]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / _FOLDER))
    return {"parallel_read_safe": True}


def write_pages(folder: Path) -> None:
    """A page for each room, and one that lists them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    doors = [importlib.import_module(f"kubewright.{room}") for room in ROOMS]
    toctree = "\n".join(ROOMS)
    intro = (
        "What each room's door names, from its docstrings. The names that most programs need are in `kubewright` too."
    )
    (folder / "index.md").write_text(f"# Reference\n\n{intro}\n\n```{{toctree}}\n{toctree}\n```\n")
    for room, door in zip(ROOMS, doors, strict=True):
        (folder / f"{room}.md").write_text("\n\n".join(page(door)) + "\n")


def page(door: ModuleType) -> Iterator[str]:
    """The parts of one room's page."""
    yield f"# {door.__name__}"
    yield prose(door)
    for name in sorted(door.__all__, key=str.lower):
        value = getattr(door, name)
        if inspect.isclass(value) and not isinstance(value, type(list[int])):
            yield from class_entry(name, value)
        elif inspect.isfunction(value):
            yield from function_entry(name, value)
        elif not inspect.ismodule(value):
            yield f"## {name}"
            yield code(f"{name} = {shown(value)}")


def class_entry(name: str, cls: type) -> Iterator[str]:
    """A class, its constructor, and the public names that it defines."""
    yield f"## {name}"
    shown_bases = [base for base in cls.__bases__ if base.__module__.startswith(("kubewright", "builtins"))]
    bases = ", ".join(base.__name__ for base in shown_bases if not base.__module__.startswith("kubewright._"))
    bases = bases.replace("object", "")
    yield code(f"class {name}({bases})" if bases else f"class {name}", *constructor(cls))
    yield prose(cls)
    if isinstance(cls, enum.EnumMeta):
        yield code(*(f"{each.name} = {each.value!r}" for each in list[enum.Enum](cls)))
        return
    init = cls.__dict__.get("__init__")
    if init is not None and init.__doc__ and cls.__module__.startswith("kubewright"):
        yield prose(init)
    for member, value in members(cls):
        yield f"### {name}.{member}"
        if isinstance(value, property):
            yield code(f"{member}: {value.fget.__annotations__.get('return', '')}" if value.fget else member)
            yield prose(value)
        else:
            yield from signature_and_prose(member, value)


def function_entry(name: str, function: Any) -> Iterator[str]:
    """A function of a door."""
    yield f"## {name}"
    yield from signature_and_prose(name, function)


def signature_and_prose(name: str, function: Any) -> Iterator[str]:
    """What both functions and methods show."""
    keyword = "async def" if inspect.iscoroutinefunction(function) else "def"
    yield code(f"{keyword} {signature(name, function)}")
    yield prose(function)


def constructor(cls: type) -> list[str]:
    """The constructor's signature, where the class defines one of its own."""
    if "__init__" not in vars(cls) and not hasattr(cls, "__struct_fields__"):
        return []
    try:
        text = signature(cls.__name__, cls)
    except (TypeError, ValueError, NameError):  # a name that is imported for type checkers only
        return []
    return [] if text == f"{cls.__name__}()" else ["", text]


def prose(thing: object) -> str:
    """A docstring as Markdown; indented parts and `Args:` sections become code and lists."""
    text = inspect.getdoc(thing) or ""
    if inspect.isclass(thing) and not thing.__dict__.get("__doc__"):
        return ""
    return textwrap.dedent(_arguments(text))


def _arguments(text: str) -> str:
    head, found, tail = text.partition("\nArgs:\n")
    if not found and text.startswith("Args:\n"):
        head, found, tail = "", "Args:\n", text.removeprefix("Args:\n")
    if not found:
        return text
    section = re.match(r"(?:(?: [^\n]*)?(?:\n|$))*", tail)  # it ends with its indentation
    length = section.end() if section else 0
    items: list[str] = []
    for line in textwrap.dedent(tail[:length]).splitlines():
        if match := re.match(r"(\w+): (.*)", line):
            items.append(f"- `{match[1]}`: {match[2]}")
        elif line.strip():
            items[-1] += " " + line.strip()
    rest = [tail[length:]]
    return "\n\n".join(part for part in (head.strip(), "\n".join(items), "\n".join(rest).strip()) if part)


def code(*lines: str) -> str:
    """A block of Python."""
    return "\n".join(("```python", *lines, "```"))
