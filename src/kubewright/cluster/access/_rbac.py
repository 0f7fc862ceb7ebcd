"""The stored roles and bindings, and the rules that they grant to a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from kubewright.cluster._state import State
from kubewright.cluster.access._requests import AccessRequest, quoted
from kubewright.cluster.access._rules import Rule
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.storage._storage import Entry, Event, Storage

__all__ = ["GROUP", "RBAC", "Decision", "RoleRef", "Rules"]

GROUP: Final = "rbac.authorization.k8s.io"
_SUPERUSERS: Final = "system:masters"
_ACCOUNT: Final = "system:serviceaccount:"


class Decision(NamedTuple):
    """The result of an authorization, with the server's reason, which may be empty."""

    allowed: bool
    reason: str = ""


class RoleRef(msgspec.Struct, frozen=True, rename="camel"):
    """The reference to the role that a binding grants."""

    kind: str = ""
    name: str = ""
    api_group: str = ""


class _Subject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""

    def key(self, namespace: str) -> str:
        """Returns the subject's key in the form of `_keys`; empty for an invalid subject."""
        if self.kind in ("User", "Group"):
            return f"{self.kind} {self.name}"
        own = self.namespace or namespace
        return f"User {_ACCOUNT}{own}:{self.name}" if self.kind == "ServiceAccount" and own else ""

    def describe(self, namespace: str) -> str:
        shown = f"{self.name}/{self.namespace or namespace}" if self.kind == "ServiceAccount" else self.name
        return f"{self.kind} {quoted(shown)}"


def _keys(user: User) -> list[str]:
    """Returns the keys of the user and of its groups."""
    return [f"User {user.name}", *(f"Group {group}" for group in user.groups)]


class _Role(msgspec.Struct, frozen=True):
    rules: tuple[Rule, ...] | None = None


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    role_ref: RoleRef
    subjects: tuple[_Subject, ...] | None = None


class Rules(NamedTuple):
    """All rules that apply to a user, and the errors of bindings that could not be resolved."""

    rules: list[Rule]
    errors: list[str]

    @property
    def problem(self) -> str:
        """Returns the distinct errors as one string."""
        return _joined(self.errors)


class _Grant(NamedTuple):
    """A binding and the first of its subjects that matches the user."""

    binding: Entry
    ref: RoleRef
    subject: _Subject

    def __str__(self) -> str:
        kind = "RoleBinding" if self.binding.namespace else "ClusterRoleBinding"
        name = f"{self.binding.name}/{self.binding.namespace}" if self.binding.namespace else self.binding.name
        role, subject = quoted(self.ref.name), self.subject.describe(self.binding.namespace)
        return f"{kind} {quoted(name)} of {self.ref.kind} {role} to {subject}"


class _Roles:
    """The stored roles, each parsed once."""

    def __init__(self, storage: Storage, plural: str) -> None:
        self._storage = storage
        self._name = f"{GROUP}/{plural}"
        self._known: dict[str, tuple[Entry, tuple[Rule, ...]]] = {}

    def rules(self, namespace: str, name: str) -> tuple[Rule, ...] | None:
        entry = self._storage.get(self._name, namespace, name)
        if entry is None:
            return None
        known = self._known.get(entry.key)
        if known is None or known[0] is not entry:
            if len(self._known) > 2 * self._storage.count(self._name) + 64:
                self._known.clear()  # most of these were deleted
            known = self._known[entry.key] = (entry, _role_decoder.decode(entry.raw).rules or ())
        return known[1]


class _Bindings:
    """The stored bindings by namespace and subject; a namespace is read again after a write."""

    def __init__(self, state: State, plural: str) -> None:
        self._storage = state.storage
        self._name = f"{GROUP}/{plural}"
        self._known: dict[str, dict[str, list[tuple[Entry, _Binding]]]] = {}
        state.storage.subscribe(self._name, self)
        state.restored.append(self._known.clear)

    def offer(self, event: Event) -> None:
        """Marks the namespace of the write as changed."""
        self._known.pop(event.entry.namespace, None)

    def grants(self, user: User, namespace: str) -> Iterator[_Grant]:
        """Returns the bindings of a user or one of its groups, ordered by name."""
        known = self._known.get(namespace)
        if known is None:
            known = self._known[namespace] = self._read(namespace)
        keys = _keys(user)
        found = {entry.name: (entry, binding) for key in keys for entry, binding in known.get(key, ())}
        for name in sorted(found):
            entry, binding = found[name]
            subject = next(each for each in binding.subjects or () if each.key(namespace) in keys)
            yield _Grant(entry, binding.role_ref, subject)

    def _read(self, namespace: str) -> dict[str, list[tuple[Entry, _Binding]]]:
        read: dict[str, list[tuple[Entry, _Binding]]] = {}
        for entry in self._storage.entries(self._name, namespace):
            binding = _binding_decoder.decode(entry.raw)
            for key in {each.key(namespace) for each in binding.subjects or ()}:
                read.setdefault(key, []).append((entry, binding))
        return read


_role_decoder: Final = msgspec.json.Decoder(_Role)
_binding_decoder: Final = msgspec.json.Decoder(_Binding)


class RBAC:
    """Evaluates RBAC on the current state of the storage, as the real server does."""

    def __init__(self, state: State) -> None:
        self._roles = _Roles(state.storage, "roles")
        self._cluster_roles = _Roles(state.storage, "clusterroles")
        self._bindings = _Bindings(state, "rolebindings")
        self._cluster_bindings = _Bindings(state, "clusterrolebindings")

    def decide(self, access_request: AccessRequest) -> Decision:
        """Returns whether a rule allows the request, with the granting binding or the errors as the reason."""
        if _SUPERUSERS in access_request.user.groups:
            return Decision(True)
        errors: list[str] = []
        for grant, rules in self._granted(access_request.user, access_request.namespace, errors):
            if any(rule.allows(access_request) for rule in rules):
                return Decision(True, f"RBAC: allowed by {grant}")
        return Decision(False, f"RBAC: {_joined(errors)}" if errors else "")

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Returns all rules of a user in a namespace; without a namespace, the cluster-wide ones."""
        errors: list[str] = []
        return Rules([rule for _, rules in self._granted(user, namespace, errors) for rule in rules], errors)

    def rules_of(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """Returns the rules of a role, or None if it does not exist."""
        if ref.kind == "Role":
            return self._roles.rules(namespace, ref.name)
        return self._cluster_roles.rules("", ref.name) if ref.kind == "ClusterRole" else None

    def _granted(self, user: User, namespace: str, errors: list[str]) -> Iterator[tuple[_Grant, tuple[Rule, ...]]]:
        scopes = [("", self._cluster_bindings.grants(user, ""))]
        if namespace:
            scopes.append((namespace, self._bindings.grants(user, namespace)))
        for scope, grants in scopes:
            for grant in grants:
                rules = self.rules_of(grant.ref, scope)
                if rules is None:
                    errors.append(f"{grant.ref.kind.lower()}.{GROUP} {quoted(grant.ref.name)} not found")
                else:
                    yield grant, rules


def _joined(errors: list[str]) -> str:
    """Joins the distinct errors as the server does."""
    different = list(dict.fromkeys(errors))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]"
