"""Reads definitions from files, folders and URLs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from kubewright.codegen._definition import KindSource, is_definition, read_definition
from kubewright.codegen._errors import CodegenError, WrongRequest
from kubewright.codegen._fetch import fetch
from kubewright.yaml import InvalidYAML, load_yaml_documents

__all__ = ["definitions_in", "read_sources"]

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_MARK: Final = "CustomResourceDefinition"


def read_sources(
    sources: Iterable[str],
    *,
    descriptions: bool = True,
    lenient: bool = False,
    allow_http: bool = False,
    skipped: Callable[[str], None] = lambda _note: None,
) -> list[KindSource]:
    """Returns the kinds that are defined in files, folders (recursively) and at `https://` URLs.

    A named file must contain a definition. In a folder, files without one are ignored, and partial definitions, such as
    kustomize patches, are reported to `skipped`. Raises CodegenError.
    """
    found: list[KindSource] = []
    for source in sources:
        read: Iterable[tuple[dict[str, Any], str]]
        if "://" in source:
            read = _read(fetch(source, allow_http=allow_http), source)
        elif Path(source).is_dir():
            read = _read_folder(Path(source), skipped)
        else:
            read = _read(_text(Path(source)), source)
        found += [read_definition(each, where, descriptions=descriptions, lenient=lenient) for each, where in read]
    return found


def _read_folder(folder: Path, skipped: Callable[[str], None]) -> Iterator[tuple[dict[str, Any], str]]:
    files = sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    seen = False
    for path in files:
        text = _text(path)
        if _MARK not in text:
            continue
        for document in definitions_in(text, str(path)):
            if not (document.get("spec") or {}).get("names"):
                skipped(f"{path} has only a partial definition")
                continue
            seen = True
            yield document, str(path)
    if not seen:
        raise CodegenError(str(folder), "no file in this folder has a CustomResourceDefinition")


def _read(text: str, source: str) -> Iterable[tuple[dict[str, Any], str]]:
    found = [(each, source) for each in definitions_in(text, source)]
    if not found:
        raise CodegenError(source, "it has no CustomResourceDefinition")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise WrongRequest(str(path), "no such file or folder") from None
    except UnicodeDecodeError:
        raise CodegenError(str(path), "it is not UTF-8, so it is not YAML") from None
    except OSError as error:
        raise CodegenError(str(path), error.strerror or str(error)) from None


def definitions_in(text: str, source: str) -> Iterator[dict[str, Any]]:
    """Yields the definitions among the documents of a YAML file, also inside lists. Raises CodegenError."""
    try:
        documents = load_yaml_documents(text, literal_keys=True)
    except InvalidYAML as error:
        hint = "; it looks like a template: render it first" if "{{" in text else ""
        raise CodegenError(source, f"not YAML: {error}{hint}") from None
    for document in documents:
        items = document.get("items") if isinstance(document, dict) else None
        for each in [document, *(items if isinstance(items, list) else ())]:
            if is_definition(each):
                yield each
