"""Checks the types of an expression before it is evaluated: a misspelled field is found when the rule is written.

`check` returns the types of all nodes and the possible overloads of each call. Issues have the format of the API
server's compiler: the message, its position, the line, and a mark below the line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubewright.api.cel import _types as types
from kubewright.api.cel._declarations import TYPE_NAMES, Overload, functions
from kubewright.api.cel._issues import Issues
from kubewright.api.cel._nodes import (
    Call,
    Fold,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
    Syntax,
    qualified_name,
)
from kubewright.api.cel._patches import PATCH_FUNCTIONS, field_of_patch, patch_type
from kubewright.api.cel._types import BOOL, DYN, ERROR, Substitutions, Type
from kubewright.api.cel._values import type_of_value

__all__ = ["Checked", "Environment", "check"]


@dataclass(frozen=True, slots=True)
class Environment:
    """The names that an expression can use: variables, and the fields of structs by the name of the type."""

    variables: Mapping[str, Type]
    structs: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    patches: bool = False
    """Whether expressions may build patches, as in a mutating policy: `Object{...}`, `JSONPatch{...}`."""


@dataclass(slots=True)
class Checked:
    """An expression whose types are known."""

    syntax: Syntax
    types: dict[int, Type] = field(default_factory=dict)
    overloads: dict[int, list[str]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    """The variables that nodes refer to: `a.b` may be one name."""
    functions: dict[int, str] = field(default_factory=dict)
    """Full names of functions that contain a dot and look like members."""

    @property
    def type(self) -> Type:
        """The type of the result."""
        return self.types[self.syntax.root.id]

    def uses(self, name: str) -> bool:
        """Whether the expression uses a variable."""
        return name in self.names.values()


def check(syntax: Syntax, environment: Environment) -> Checked:
    """Returns the types of an expression. Raises `CompileError` if they do not fit."""
    checker = _Checker(syntax, environment)
    checker.visit(syntax.root)
    checker.issues.raise_if_any()
    made = checker.made
    made.types = {id_: checker.known.applied(type_, free_to_dyn=True) for id_, type_ in made.types.items()}
    return made


class _Checker:
    def __init__(self, syntax: Syntax, environment: Environment) -> None:
        self.made = Checked(syntax)
        self.issues = Issues(syntax)
        self.known = Substitutions()
        self._structs = environment.structs
        self._patches = environment.patches
        self._scopes: list[dict[str, Type]] = [dict(environment.variables)]
        self._free = 0

    def visit(self, node: Node) -> Type:
        match node:
            case Literal(value=value):
                found = type_of_value(value)
            case Ident():
                found = self._ident(node)
            case Select():
                found = self._select(node)
            case Call():
                found = self._call(node)
            case ListNode():
                found = self._list(node)
            case MapNode():
                found = self._map(node)
            case StructNode():
                found = self._struct(node)
            case _:
                found = self._fold(node)
        self.made.types[node.id] = found
        return found

    # Names

    def _variable(self, name: str) -> Type | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        if name in TYPE_NAMES and name.islower():
            return types.type_of(TYPE_NAMES[name])
        if self._patches and (patch := patch_type(name)) is not None:
            return types.type_of(patch)
        return _TYPE_IDENTIFIERS.get(name)

    def _ident(self, node: Ident) -> Type:
        found = self._variable(node.name)
        if found is None:
            self.issues.undeclared(node.id, node.name)
            return ERROR
        self.made.names[node.id] = node.name
        return found

    def _select(self, node: Select) -> Type:
        name = qualified_name(node)
        if name and (found := self._variable(name)) is not None:
            self.made.names[node.id] = name
            return found
        found = self._field(node.id, node.operand, node.field)
        return BOOL if node.is_test else self.known.applied(found)

    def _field(self, id_: int, operand: Node, name: str, *, optional: bool = False) -> Type:
        given = self.known.applied(self.visit(operand))
        target, found = given.unwrapped, ERROR
        match target.kind:
            case "map":
                found = target.parameters[1]
            case "struct":
                known = self._field_type(target, name)
                if known is not None:
                    found = known
                else:
                    self.issues.add(id_, f"undefined field '{name}'")
            case "parameter":
                self.known.fits(DYN, target)
                found = DYN
            case "dyn" | "error":
                found = DYN
            case _:
                self.issues.add(id_, f"type '{target}' does not support field selection")
                found = DYN
        return types.optional_of(found) if given.is_optional or optional else found

    def _field_type(self, struct: Type, name: str) -> Type | None:
        if self._patches and patch_type(struct.name) is not None:
            return field_of_patch(struct, name)
        return self._structs.get(struct.name, {}).get(name)

    # Calls

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            return self._optional_field(node)
        for argument in node.arguments:
            self.visit(argument)
        if node.target is None:
            return self._resolved(node, node.function, node.arguments, is_member=False)
        prefix = qualified_name(node.target)
        full = f"{prefix}.{node.function}"
        if prefix and self._overloads(full) is not None:
            self.made.functions[node.id] = full
            return self._resolved(node, full, node.arguments, is_member=False)
        self.visit(node.target)
        return self._resolved(node, node.function, [node.target, *node.arguments], is_member=True)

    def _optional_field(self, node: Call) -> Type:
        operand, name = node.arguments
        assert isinstance(name, Literal)
        self.visit(name)
        self.made.overloads[node.id] = ["select_optional_field"]
        return self.known.applied(self._field(node.id, operand, name.value, optional=True))

    def _resolved(self, node: Call, name: str, arguments: list[Node], *, is_member: bool) -> Type:
        overloads = self._overloads(name)
        if overloads is None:
            self.issues.undeclared(node.id, name)
            return ERROR
        given = [self.made.types[argument.id] for argument in arguments]
        if name in ("_&&_", "_||_"):
            return self._logical(node, name, given)
        ids: list[str] = []
        result: Type | None = None
        for overload in overloads:
            if overload.is_member is not is_member:
                continue
            fresh = self._fresh({*overload.arguments, overload.result})
            expected = [fresh.applied(argument) for argument in overload.arguments]
            if not self.known.fit_all(given, expected):
                continue
            ids.append(overload.id)
            found = self.known.applied(fresh.applied(overload.result))
            if result is None:
                result = found
            elif not result.is_dyn and found != result:
                result = DYN
        if result is None:
            shown = [self.known.applied(each, free_to_dyn=True) for each in given]
            text = f"'{name}' applied to '{types.signature(shown, is_member=is_member)}'"
            self.issues.add(node.id, f"found no matching overload for {text}")
            return ERROR
        self.made.overloads[node.id] = ids
        return result

    def _overloads(self, name: str) -> tuple[Overload, ...] | None:
        return None if name in PATCH_FUNCTIONS and not self._patches else functions().get(name)

    def _logical(self, node: Call, name: str, given: list[Type]) -> Type:
        self.made.overloads[node.id] = ["logical_and" if name == "_&&_" else "logical_or"]
        fits = True
        for argument, type_ in zip(node.arguments, given, strict=True):
            if not self.known.fits(type_, BOOL):
                self._mismatch(argument, BOOL, type_)
                fits = False
        return BOOL if fits else ERROR

    def _fresh(self, mentioned: set[Type]) -> Substitutions:
        """Returns a signature with fresh type parameters, so that two calls do not share them."""
        fresh = Substitutions()
        for name in sorted(_parameters(mentioned)):
            fresh.fits(self._free_type(), types.parameter(name))
        return fresh

    def _free_type(self) -> Type:
        self._free += 1
        return types.parameter(f"_var{self._free - 1}")

    # Lists, maps and structs

    def _list(self, node: ListNode) -> Type:
        joined: Type | None = None
        for number, element in enumerate(node.elements):
            found = self.visit(element)
            if number in node.optional:
                found = self._unwrapped(element, found)
            joined = self._joined(joined, found)
        return types.list_of(joined or self._free_type())

    def _map(self, node: MapNode) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            key = self._joined(key, self.visit(entry.key))
            found = self.visit(entry.value)
            if entry.is_optional:
                found = self._unwrapped(entry.value, found)
            value = self._joined(value, found)
        return types.map_of(key or self._free_type(), value or self._free_type())

    def _struct(self, node: StructNode) -> Type:
        made = patch_type(node.name) if self._patches else None
        if made is None:
            self.issues.undeclared(node.id, node.name)
            return ERROR
        for entry in node.entries:
            assert isinstance(entry.key, str)
            given = self.visit(entry.value)
            if entry.is_optional:
                given = self._unwrapped(entry.value, given)
            expected = field_of_patch(made, entry.key)
            if expected is None:
                self.issues.add(entry.id, f"undefined field '{entry.key}'")
            elif not self.known.fits(expected, given):
                text = f"expected type of field '{entry.key}' is '{expected}' but provided type is '{given}'"
                self.issues.add(entry.id, text)
        return made

    def _unwrapped(self, node: Node, found: Type) -> Type:
        if not found.is_optional and not found.is_dyn:
            self._mismatch(node, types.optional_of(found), found)
        return found.unwrapped

    def _joined(self, before: Type | None, found: Type) -> Type:
        if before is None:
            return found
        return types.most_general(before, found) if self.known.fits(before, found) else DYN

    def _fold(self, node: Fold) -> Type:
        self.visit(node.range)
        initial = self.visit(node.initial)
        over = self.known.applied(self.made.types[node.range.id])
        first, second = self._iterated(node, over)
        self._scopes.append({node.accumulator: initial})
        self._scopes.append({node.variable: first, **({node.second_variable: second} if node.second_variable else {})})
        self._expect(node.condition, BOOL)
        self._expect(node.step, initial)
        self._scopes.pop()
        self.visit(node.result)
        self._scopes.pop()
        return self.known.applied(self.made.types[node.result.id])

    def _iterated(self, node: Fold, over: Type) -> tuple[Type, Type]:
        match over.kind:
            case "list":
                element = over.parameters[0]
                return (types.INT, element) if node.second_variable else (element, element)
            case "map":
                return over.parameters[0], over.parameters[1]
            case "dyn" | "error" | "parameter":
                self.known.fits(DYN, over)
                return DYN, DYN
            case _:
                text = f"expression of type '{over}' cannot be range of a comprehension"
                self.issues.add(node.range.id, f"{text} (must be list, map, or dynamic)")
                return ERROR, ERROR

    def _expect(self, node: Node, expected: Type) -> None:
        found = self.visit(node)
        if not self.known.fits(expected, found):
            self._mismatch(node, expected, found)

    def _mismatch(self, node: Node, expected: Type, found: Type) -> None:
        self.issues.add(node.id, f"expected type '{expected}' but found '{found}'")


_TYPE_IDENTIFIERS = {
    "list": types.type_of(types.ANY_LIST),
    "map": types.type_of(types.map_of(DYN, DYN)),
    "null_type": types.type_of(types.NULL),
    "type": types.type_of(types.type_of(DYN)),
    "optional_type": types.type_of(types.optional_of(DYN)),
    "net.IP": types.type_of(types.IP),
    "net.CIDR": types.type_of(types.CIDR),
    "google.protobuf.Timestamp": types.type_of(types.TIMESTAMP),
    "google.protobuf.Duration": types.type_of(types.DURATION),
}


def _parameters(mentioned: set[Type]) -> set[str]:
    found: set[str] = set()
    for type_ in mentioned:
        if type_.kind == "parameter":
            found.add(type_.name)
        found |= _parameters(set(type_.parameters))
    return found
