"""Imports a file or module and finds its operator."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from contextlib import suppress
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from kubewright.operator._operator import Operator
from kubewright.suggestions import nearest

__all__ = [
    "LoadError",
    "check_file",
    "is_file",
    "load_module",
    "load_operator",
    "not_found_message",
    "operator_in",
    "split_target",
]


class LoadError(Exception):
    """The target has no operator, or cannot be found. The message is for users."""


def load_operator(target: str | os.PathLike[str]) -> Operator:
    """Returns the operator in `foo.py` or `package.module`; `foo.py:name` selects one of several.

    Each call imports the program again, as a new process does: the file, and all modules in its folder and below, have
    new state. Operators that were loaded before keep their own modules. Other modules, such as installed packages, are
    shared.

    Raises `LoadError` if there is no such operator. Exceptions of the imported module propagate unchanged.
    """
    where, name = split_target(os.fspath(target))
    _forget(where)
    return operator_in(load_module(where), where, name)


def _forget(where: str) -> None:
    """Removes the modules of a program from `sys.modules`, so that the next import creates them again."""
    file = where if is_file(where) else getattr(sys.modules.get(where), "__file__", None)
    if file is None:
        return
    folder = f"{Path(file).resolve().parent}{os.sep}"
    for name, module in list(sys.modules.items()):
        found = getattr(module, "__file__", None)
        if isinstance(found, str) and found.startswith(folder) and not _is_shared(name, found):
            del sys.modules[name]


def _is_shared(name: str, file: str) -> bool:
    """Returns whether a module below the folder of a program belongs to the process: a package, a test's conftest."""
    if name == "__main__" or name.partition(".")[0] == "kubewright" or name.rpartition(".")[2] == "conftest":
        return True
    return "site-packages" in Path(file).parts


def operator_in(module: ModuleType, where: str, name: str = "") -> Operator:
    """Returns the operator with a name in a module, or its only operator. `where` names the module in errors."""
    operators = {name: value for name, value in vars(module).items() if isinstance(value, Operator)}
    if name:
        found = getattr(module, name, None)
        if not isinstance(found, Operator):
            hint = f"; its operators are: {', '.join(operators)}" if operators else ""
            raise LoadError(f"{where} has no Operator named {name!r}{hint}")
        return found
    if not operators:
        raise LoadError(f'{where} has no Operator: create one with `operator = kubewright.Operator("name")`')
    distinct = set(operators.values())
    if len(distinct) > 1:
        names = " or ".join(f"{where}:{name}" for name in operators)
        raise LoadError(f"{where} has several operators; choose one: {names}")
    return distinct.pop()


def load_module(where: str) -> ModuleType:
    """Imports `foo.py` or `package.module`."""
    return _import_file(Path(where)) if is_file(where) else _import_module(where)


def split_target(target: str) -> tuple[str, str]:
    """Splits a target into its file or module and the name after the colon, which may be empty."""
    where, colon, name = target.rpartition(":")
    return (where, name) if colon and name.isidentifier() else (target, "")


def is_file(where: str) -> bool:
    """Returns whether a target, without the name after the colon, is a file and not a module."""
    return where.endswith(".py") or "/" in where or Path(where).is_file()


def not_found_message(where: str, folder: Path | None = None) -> str:
    """Returns the message about a missing file or module, with the closest existing name."""
    if is_file(where):
        path = Path(where)
        # Without the suffix, which all of them have in common and which makes short names similar.
        near = nearest(path.stem, sorted(each.stem for each in path.parent.glob("*.py")))
        return f"there is no file {where}{f'; did you mean {path.with_name(near)}.py?' if near else ''}"
    package, dot, name = where.rpartition(".")
    around = (folder or Path.cwd()).joinpath(*package.split("."))
    names = {each.stem for each in around.glob("*.py")} | {each.parent.name for each in around.glob("*/__init__.py")}
    near = nearest(name, sorted(names))
    return f"there is no file or module {where!r}{f'; did you mean {package}{dot}{near}?' if near else ''}"


def check_file(path: Path) -> None:
    """Raises `LoadError` if there is no such file, or if Python cannot import it."""
    _loader_of(path)


def _loader_of(path: Path) -> tuple[ModuleSpec, Loader]:
    if not path.is_file():
        raise LoadError(not_found_message(str(path)))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise LoadError(f"{path} is not a Python file; pass the file of the operator, such as operator.py")
    return spec, spec.loader


def _import_file(path: Path) -> ModuleType:
    spec, loader = _loader_of(path)
    name, folder = _module_name(path.resolve())
    if name != path.stem and all(part.isidentifier() for part in name.split(".")):
        return _import_module(name, folder)
    # As `python foo.py` does, so that the file can import its neighbors.
    _search_first(path.resolve().parent)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    loader.exec_module(module)
    return module


def _module_name(path: Path) -> tuple[str, Path]:
    """Returns the dotted module name of a file, and the folder that contains its top-level package."""
    names = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names), folder


def _import_module(name: str, folder: Path | None = None) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise LoadError(f"{name!r} is neither a Python file nor the name of a module")
    _search_first(folder or Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise LoadError(not_found_message(name, folder)) from None
        raise


def _search_first(folder: Path) -> None:
    with suppress(ValueError):
        sys.path.remove(str(folder))
    sys.path.insert(0, str(folder))
