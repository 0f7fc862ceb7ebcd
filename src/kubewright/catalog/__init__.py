"""The catalog of errors: a stable code, the cause and the fix of each public error.

`kubewright explain` prints an entry, and `docs/reference/errors.md` is generated from all of them. The texts are in
`errors.toml`, which is read on first use.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

__all__ = ["Entry", "catalog", "entry_of", "find_entries"]


@dataclass(frozen=True)
class Entry:
    """An error of the catalog."""

    code: str
    """Such as `KW301`. It never changes its meaning."""
    error: str
    """The class with the package that exports it: `kubewright.controller.NotOwned`."""
    cause: str
    fix: str
    page: str
    """The page of the documentation with more: `reconcile` for `docs/reconcile.md`."""

    @property
    def name(self) -> str:
        """Returns the name of the class: `NotOwned`."""
        return self.error.rpartition(".")[2]

    @property
    def adds_to_message(self) -> bool:
        """Returns whether the entry has more than the message of the error, which often contains the fix."""
        return not self.fix.startswith("The message")


@functools.cache
def catalog() -> Mapping[str, Entry]:
    """Returns all entries by code, in the order of the codes."""
    text = (resources.files("kubewright.catalog") / "errors.toml").read_text(encoding="utf-8")
    return {code: Entry(code, **values) for code, values in tomllib.loads(text).items()}


def entry_of(error: BaseException | type[BaseException]) -> Entry | None:
    """Returns the entry of an error's class or of its nearest base class; None if the catalog has none."""
    by_class = {entry.error: entry for entry in catalog().values()}
    for cls in (error if isinstance(error, type) else type(error)).__mro__:
        package = cls.__module__.partition("._")[0]
        while package:  # a package above may export it
            if (found := by_class.get(f"{package}.{cls.__name__}")) is not None:
                return found
            package = package.rpartition(".")[0]
    return None


def find_entries(word: str) -> list[Entry]:
    """Returns the entries with this code, class name or full name, in any case: `KW301`, `notowned`.

    An HTTP status, such as `409`, finds the errors whose causes begin with it.
    """
    wanted = word.strip().lower()
    if re.fullmatch("[1-5][0-9]{2}", wanted):
        return [entry for entry in catalog().values() if entry.cause.startswith(f"{wanted}: ")]
    names = ((entry, (entry.code, entry.name, entry.error)) for entry in catalog().values())
    return [entry for entry, known in names if wanted in [name.lower() for name in known]]
