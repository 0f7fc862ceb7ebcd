"""Finding the operator in a file or module."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from kubewright.operator._operator import Operator
from kubewright.suggestions import nearest

__all__ = ["LoadError", "is_file", "load_module", "load_operator", "not_found_message", "operator_in", "split_target"]


class LoadError(Exception):
    """There is no operator where one was looked for."""


def load_operator(target: str) -> Operator:
    """The operator in `foo.py`, `package.module`, or `foo.py:name` and `package.module:name` where there are several.

    What the module itself raises while it is imported comes out as it is.
    """
    where, name = split_target(target)
    return operator_in(load_module(where), where, name)


def operator_in(module: ModuleType, where: str, name: str = "") -> Operator:
    """The operator of that name in a module; without a name, the only one. `where` is what errors call the module."""
    operators = {name: value for name, value in vars(module).items() if isinstance(value, Operator)}
    if name:
        found = getattr(module, name, None)
        if not isinstance(found, Operator):
            hint = f"; there is {', '.join(operators)}" if operators else ""
            raise LoadError(f"{where} has no Operator named {name!r}{hint}")
        return found
    if not operators:
        raise LoadError(f'{where} has no Operator: make one with `operator = kubewright.Operator("name")`')
    distinct = set(operators.values())
    if len(distinct) > 1:
        names = " or ".join(f"{where}:{name}" for name in operators)
        raise LoadError(f"{where} has several operators; say which one: {names}")
    return distinct.pop()


def load_module(where: str) -> ModuleType:
    """The module in `foo.py` or `package.module`, imported."""
    return _import_file(Path(where)) if is_file(where) else _import_module(where)


def split_target(target: str) -> tuple[str, str]:
    """A target without, and with only, the name behind its colon."""
    where, colon, name = target.rpartition(":")
    return (where, name) if colon and name.isidentifier() else (target, "")


def is_file(where: str) -> bool:
    """Whether a target, without the name behind its colon, means a file and not a module."""
    return where.endswith(".py") or "/" in where or Path(where).is_file()


def not_found_message(where: str, folder: Path | None = None) -> str:
    """That there is no such file or module, and which one may have been meant."""
    if is_file(where):
        path = Path(where)
        near = nearest(path.name, sorted(each.name for each in path.parent.glob("*.py")))
        return f"there is no file {where}{f'; did you mean {path.with_name(near)}?' if near else ''}"
    package, dot, name = where.rpartition(".")
    around = (folder or Path.cwd()).joinpath(*package.split("."))
    names = {each.stem for each in around.glob("*.py")} | {each.parent.name for each in around.glob("*/__init__.py")}
    near = nearest(name, sorted(names))
    return f"there is no file or module {where!r}{f'; did you mean {package}{dot}{near}?' if near else ''}"


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise LoadError(not_found_message(str(path)))
    name, folder = _of_package(path.resolve())
    if name != path.stem and all(part.isidentifier() for part in name.split(".")):
        return _import_module(name, folder)
    # As `python foo.py` does: what lies beside the file can be imported.
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise LoadError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _of_package(path: Path) -> tuple[str, Path]:
    """The name by which others import a file, with the packages that it is in, and the folder around all of them."""
    names = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names), folder


def _import_module(name: str, folder: Path | None = None) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise LoadError(f"{name!r} is neither a Python file nor the name of a module")
    sys.path.insert(0, str(folder or Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise LoadError(not_found_message(name, folder)) from None
        raise
