"""The roles and bindings that are stored, and what follows from them for a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from kubewright.cluster._calls import User
from kubewright.cluster._storage import Entry, Storage
from kubewright.cluster.access._questions import Question, quoted
from kubewright.cluster.access._rules import Rule

__all__ = ["GROUP", "Decision", "Policies", "RoleRef", "Rules"]

GROUP: Final = "rbac.authorization.k8s.io"
_SUPERUSERS: Final = "system:masters"
_ACCOUNT: Final = "system:serviceaccount:"
_T = TypeVar("_T", bound=msgspec.Struct)


class Decision(NamedTuple):
    """Yes or no, and the server's reason, which may be empty."""

    allowed: bool
    reason: str = ""


class RoleRef(msgspec.Struct, frozen=True, rename="camel"):
    """Which role a binding grants."""

    kind: str = ""
    name: str = ""
    api_group: str = ""


class _Subject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""

    def is_user(self, user: User, namespace: str) -> bool:
        if self.kind == "User":
            return user.name == self.name
        if self.kind == "Group":
            return self.name in user.groups
        own = self.namespace or namespace
        return self.kind == "ServiceAccount" and bool(own) and user.name == f"{_ACCOUNT}{own}:{self.name}"

    def described(self, namespace: str) -> str:
        shown = f"{self.name}/{self.namespace or namespace}" if self.kind == "ServiceAccount" else self.name
        return f"{self.kind} {quoted(shown)}"


class _Role(msgspec.Struct, frozen=True):
    rules: tuple[Rule, ...] | None = None


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    role_ref: RoleRef
    subjects: tuple[_Subject, ...] | None = None


class Rules(NamedTuple):
    """All rules that apply to a user, and what is wrong with bindings that lead nowhere."""

    rules: list[Rule]
    errors: list[str]

    @property
    def problem(self) -> str:
        """The errors in one text, each once."""
        return _joined(self.errors)


class _Granted(NamedTuple):
    rules: tuple[Rule, ...]
    binding: Entry
    ref: RoleRef
    subject: _Subject

    def __str__(self) -> str:
        kind = "RoleBinding" if self.binding.namespace else "ClusterRoleBinding"
        name = f"{self.binding.name}/{self.binding.namespace}" if self.binding.namespace else self.binding.name
        role, subject = quoted(self.ref.name), self.subject.described(self.binding.namespace)
        return f"{kind} {quoted(name)} of {self.ref.kind} {role} to {subject}"


class _Parsed(Generic[_T]):
    """The stored objects of a kind, each parsed once."""

    def __init__(self, storage: Storage, plural: str, form: type[_T]) -> None:
        self._storage = storage
        self._name = f"{GROUP}/{plural}"
        self._decoder = msgspec.json.Decoder(form)
        self._known: dict[str, tuple[Entry, _T]] = {}

    def get(self, namespace: str, name: str) -> _T | None:
        entry = self._storage.get(self._name, namespace, name)
        return None if entry is None else self._parse(entry)

    def all(self, namespace: str = "") -> Iterator[tuple[Entry, _T]]:
        if len(self._known) > 2 * self._storage.count(self._name) + 64:
            self._known.clear()  # most of these are gone
        for entry in self._storage.entries(self._name, namespace):
            yield entry, self._parse(entry)

    def _parse(self, entry: Entry) -> _T:
        known = self._known.get(entry.key)
        if known is None or known[0] is not entry:
            known = self._known[entry.key] = (entry, self._decoder.decode(entry.raw))
        return known[1]


class Policies:
    """Evaluates RBAC as the real server does, on what the storage has at that moment."""

    def __init__(self, storage: Storage) -> None:
        self._roles = _Parsed(storage, "roles", _Role)
        self._cluster_roles = _Parsed(storage, "clusterroles", _Role)
        self._bindings = _Parsed(storage, "rolebindings", _Binding)
        self._cluster_bindings = _Parsed(storage, "clusterrolebindings", _Binding)

    def decide(self, question: Question) -> Decision:
        """Whether a rule allows it; which binding grants the rule, or why bindings could not be followed."""
        if _SUPERUSERS in question.user.groups:
            return Decision(True)
        errors: list[str] = []
        for granted in self._granted(question.user, question.namespace, errors):
            if any(rule.allows(question) for rule in granted.rules):
                return Decision(True, f"RBAC: allowed by {granted}")
        return Decision(False, f"RBAC: {_joined(errors)}" if errors else "")

    def rules_for(self, user: User, namespace: str) -> Rules:
        """All rules that apply to a user in a namespace, or, without one, everywhere."""
        errors: list[str] = []
        rules = [rule for granted in self._granted(user, namespace, errors) for rule in granted.rules]
        return Rules(rules, errors)

    def rules_of(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """The rules of a role; None when there is no such role."""
        if ref.kind == "Role":
            role = self._roles.get(namespace, ref.name)
        else:
            role = self._cluster_roles.get("", ref.name) if ref.kind == "ClusterRole" else None
        return None if role is None else role.rules or ()

    def _granted(self, user: User, namespace: str, errors: list[str]) -> Iterator[_Granted]:
        places = [("", self._cluster_bindings.all())]
        if namespace:
            places.append((namespace, self._bindings.all(namespace)))
        for place, bindings in places:
            for entry, binding in bindings:
                subject = next((each for each in binding.subjects or () if each.is_user(user, place)), None)
                if subject is None:
                    continue
                rules = self.rules_of(binding.role_ref, place)
                if rules is None:
                    kind = binding.role_ref.kind.lower()
                    errors.append(f"{kind}.{GROUP} {quoted(binding.role_ref.name)} not found")
                else:
                    yield _Granted(rules, entry, binding.role_ref, subject)


def _joined(errors: list[str]) -> str:
    """Several errors as the server shows them: each once."""
    different = list(dict.fromkeys(errors))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]"
