"""Modules into files."""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path

from kubewright.codegen._errors import CodegenError, WrongRequest
from kubewright.codegen._names import module_name
from kubewright.codegen._render import HEADER
from kubewright.files import write_all

__all__ = ["files_of", "write"]


def files_of(modules: Mapping[tuple[str, str], str], out: Path) -> dict[Path, str]:
    """What belongs into which file: one module into a file `out`, or any number into packages below a folder `out`."""
    if out.suffix == ".py":
        _check_name(out, out.stem)
        if len(modules) != 1:
            names = ", ".join(f"{package}/{version}" for package, version in modules)
            raise WrongRequest(
                str(out), f"there are {len(modules)} group versions ({names}), and each is a module; name a folder"
            )
        return {out: next(iter(modules.values()))}
    if not out.is_dir() and (out.suffix or out.exists()):
        raise WrongRequest(str(out), "this is neither a file NAME.py nor a folder, whose name has no dot")
    if not out.is_dir():  # one that is there may be where Python looks for packages, whatever its name
        _check_name(out, out.name)
    files = {out / "__init__.py": f'"""Types of custom resources.\n\n{HEADER}\n"""\n'}
    for (package, version), text in modules.items():
        files[out / package / "__init__.py"] = f'"""Types of custom resources.\n\n{HEADER}\n"""\n'
        files[out / package / f"{version}.py"] = text
    return dict(sorted(files.items()))


def _check_name(out: Path, name: str) -> None:
    if not name.isidentifier() or iskeyword(name):
        raise WrongRequest(
            str(out),
            f"{name!r} cannot be imported: a module is called as a name in Python, such as {module_name(name)}",
        )


def write(modules: Mapping[tuple[str, str], str], out: Path, *, check: bool = False) -> list[Path]:
    """Write what has changed, all of it or nothing, and say which files these are; with `check`, only say so.

    A file that was not generated is never overwritten: an `__init__.py` of yours is left as it is, any other raises
    CodegenError, before anything is written.
    """
    changed: dict[Path, str] = {}
    for path, text in files_of(modules, out).items():
        there = _there(path)
        if there is None or (HEADER in there[:1000] and there != text):
            changed[path] = text
        elif HEADER not in there[:1000] and path.name != "__init__.py":
            raise CodegenError(str(path), "this file was not generated, and would be lost; name another place")
    if not check:
        write_all(Path(), {str(path): text for path, text in changed.items()})
    return list(changed)


def _there(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):  # the latter is told when the folder is made
        return None
    except UnicodeDecodeError:
        return ""
