"""Writes modules into files."""

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
    """Returns the content by file: one module in the file `out`, or any number in packages below the folder `out`."""
    if out.suffix == ".py":
        _check_name(out, out.stem)
        if len(modules) != 1:
            names = ", ".join(f"{package}/{version}" for package, version in modules)
            raise WrongRequest(
                str(out), f"there are {len(modules)} group versions ({names}), each is a module: name a folder"
            )
        return {out: next(iter(modules.values()))}
    if not out.is_dir() and (out.suffix or out.exists()):
        raise WrongRequest(str(out), "the output must be a file NAME.py, or a folder whose name has no dot")
    if not out.is_dir():  # an existing folder may be on Python's path, whatever its name
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
            f"{name!r} cannot be imported: use a Python name, such as {module_name(name)}",
        )


def write(modules: Mapping[tuple[str, str], str], out: Path, *, check: bool = False) -> list[Path]:
    """Writes the files that have changed, all or none, and returns them. With `check`, writes nothing.

    Never overwrites a file that was not generated: it keeps your `__init__.py`, and raises CodegenError for any other
    file before it writes anything.
    """
    changed: dict[Path, str] = {}
    for path, text in files_of(modules, out).items():
        there = _there(path)
        if there is None or (HEADER in there[:1000] and there != text):
            changed[path] = text
        elif HEADER not in there[:1000] and path.name != "__init__.py":
            raise CodegenError(str(path), "this file was not generated and would be overwritten; choose another path")
    if not check:
        write_all(Path(), {str(path): text for path, text in changed.items()})
    return list(changed)


def _there(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):  # creating the folder reports the latter
        return None
    except UnicodeDecodeError:
        return ""
