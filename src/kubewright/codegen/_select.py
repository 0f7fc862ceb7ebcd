"""Selects kinds by name, as kubectl does."""

from __future__ import annotations

from collections.abc import Iterable

from kubewright.suggestions import nearest

__all__ = ["Selection"]


class Selection:
    """The requested kinds: `Certificate`, `certificates` or `certificates.cert-manager.io`. Default: all."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = dict.fromkeys(names, False)
        self._seen: dict[str, str] = {}

    def takes(self, kind: str, plural: str, group: str) -> bool:
        """Whether a kind is requested. If so, its name counts as found."""
        forms = {kind.lower(), plural, f"{plural}.{group}", f"{kind.lower()}.{group}"}
        self._seen |= dict.fromkeys(forms, kind)
        taken = [name for name in self._names if name.lower() in forms]
        self._names.update(dict.fromkeys(taken, True))
        return bool(taken) or not self._names

    def missing(self) -> list[str]:
        """Returns the requested names that no kind had."""
        return [name for name, found in self._names.items() if not found]

    def near(self, name: str) -> str:
        """Returns a suggestion for a name that no kind had; empty if no kind is similar."""
        meant = nearest(name.lower(), self._seen)
        return f"; did you mean {self._seen[meant]}?" if meant else ""
