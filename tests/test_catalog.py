"""The catalog of errors: every public error has a stable code, a cause and a fix."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from kubewright.catalog import catalog, entry_of, find_entries
from kubewright.client import ApiError, NotFound
from kubewright.controller import NotOwned
from tools.public_api import ROOMS

DOCS = Path(__file__).parents[1] / "docs"


def public_errors() -> list[type[BaseException]]:
    found: dict[type[BaseException], None] = {}
    for room in ROOMS:
        door = importlib.import_module(f"kubewright.{room}")
        for name in door.__all__:
            value = getattr(door, name)
            if inspect.isclass(value) and issubclass(value, BaseException) and not issubclass(value, Warning):
                found[value] = None
    return [*found]


@pytest.mark.promise("Development", "Every public error has a code, a cause and a fix, offline.")
@pytest.mark.parametrize("error", public_errors(), ids=lambda error: str(error.__name__))
def test_every_public_error_has_an_entry(error: type[BaseException]) -> None:
    entry = entry_of(error)
    assert entry is not None, f"add {error.__module__}.{error.__name__} to src/kubewright/catalog/errors.toml"
    assert entry.name == error.__name__, "it has only the entry of a base class"


@pytest.mark.parametrize("entry", catalog().values(), ids=lambda entry: str(entry.code))
def test_entry_names_an_existing_class_and_page(entry: object) -> None:
    from kubewright.catalog import Entry

    assert isinstance(entry, Entry)
    package, _, name = entry.error.rpartition(".")
    error = getattr(importlib.import_module(package), name)
    assert entry_of(error) == entry
    assert (DOCS / f"{entry.page}.md").is_file()
    for text in (entry.cause, entry.fix):
        assert text[0].isupper() or text[0] == "`" or text[0].isdigit()
        assert text.endswith((".", "`"))


def test_codes_are_unique_and_sorted() -> None:
    codes = [*catalog()]
    assert codes == sorted(codes)
    assert len({entry.error for entry in catalog().values()}) == len(codes)


def test_codes_keep_their_meaning() -> None:
    """Users search for codes. Extend this list with a few of each release; never change it."""
    recorded = {"KW101": "ConfigError", "KW106": "Conflict", "KW201": "DecodeError", "KW301": "NotOwned"}
    assert {code: catalog()[code].name for code in recorded} == recorded


def test_an_error_without_an_entry_has_that_of_its_base_class() -> None:
    class Odd(NotFound):
        pass

    assert entry_of(Odd) == entry_of(NotFound) != entry_of(ApiError)
    assert entry_of(ValueError()) is None


@pytest.mark.parametrize("word", ["KW301", "kw301", "NotOwned", "notowned", "kubewright.controller.NotOwned"])
def test_finds_an_entry_by_code_and_name(word: str) -> None:
    assert find_entries(word) == [entry_of(NotOwned)]


@pytest.mark.parametrize(
    ("status", "names"), [("409", ["AlreadyExists", "Conflict"]), ("404", ["NotFound"]), ("599", [])]
)
def test_finds_the_errors_of_an_http_status(status: str, names: list[str]) -> None:
    assert [entry.name for entry in find_entries(status)] == names


def test_finds_all_classes_of_a_name() -> None:
    assert [entry.error for entry in find_entries("NotServed")] == [
        "kubewright.controller.NotServed",
        "kubewright.deployment.NotServed",
    ]
    assert find_entries("nonsense") == []
