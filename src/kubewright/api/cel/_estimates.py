"""Estimates the cost of an expression before it runs. The API server rejects rules that could take too long.

The estimates equal the server's, unit by unit: they decide whether a definition is accepted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kubewright.api.cel._checker import Checked
from kubewright.api.cel._library_costs import Argument, Element, library_cost
from kubewright.api.cel._nodes import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select, StructNode
from kubewright.api.cel._ranges import NOTHING, ONE, REGEX, TRAVERSAL, UNBOUNDED, UNKNOWN, Range, fixed
from kubewright.api.cel._schemas import Declared
from kubewright.api.cel._types import Type

__all__ = ["UNBOUNDED", "estimate"]


def estimate(checked: Checked, root: Declared) -> int:
    """Returns the largest possible cost of an expression, from the declared sizes of `self` and `oldSelf`."""
    return _Estimator(checked, root).cost(checked.syntax.root).most


@dataclass(slots=True)
class _Local:
    path: tuple[str, ...]
    size: Range | None
    entries: tuple[str, Range, Range] | None


@dataclass(slots=True)
class _Estimator:
    checked: Checked
    root: Declared
    paths: dict[int, tuple[str, ...]] = field(default_factory=dict)
    sizes: dict[int, Range] = field(default_factory=dict)
    entries: dict[int, tuple[str, Range, Range]] = field(default_factory=dict)
    locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, node: Node) -> Range:
        match node:
            case Literal():
                return NOTHING
            case Ident():
                return self._ident(node.id, node.name)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListNode():
                return self._list(node)
            case MapNode():
                return self._map(node)
            case StructNode():
                return fixed(40)
            case Fold():
                return self._fold(node)

    # Names

    def _ident(self, id_: int, name: str) -> Range:
        local = self._local(name)
        self.paths[id_] = local.path if local is not None else (name,)
        return ONE

    def _local(self, name: str) -> _Local | None:
        known = self.locals.get(name)
        return known[-1] if known else None

    def _select(self, node: Select) -> Range:
        if node.id in self.checked.names:
            return self._ident(node.id, self.checked.names[node.id])
        cost = self.cost(node.operand)
        if node.is_test:
            return cost
        self.paths[node.id] = (*self._path(node.operand), node.field)
        return cost + ONE if self._type(node.operand).kind in ("map", "struct", "parameter") else cost

    def _type(self, node: Node) -> Type:
        return self.checked.types[node.id]

    def _path(self, node: Node) -> tuple[str, ...]:
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.path
        return self.paths.get(node.id, ())

    # Sizes

    def _size(self, node: Node) -> Range | None:
        if node.id in self.sizes:
            return self.sizes[node.id]
        match node:
            case Literal(value=str() | bytes() as value):
                return fixed(len(value))
            case Literal():
                return ONE
            case ListNode(elements=elements):
                return fixed(len(elements))
            case MapNode(entries=entries):
                return fixed(len(entries))
        declared = self._declared(self._path(node))
        if declared is not None:
            self.sizes[node.id] = declared
            return declared
        if self._type(node).is_scalar:
            return ONE
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.size
        return None

    def _declared(self, path: tuple[str, ...]) -> Range | None:
        """Returns the size of the value at a path, from the schema.

        Like the server, it reads every path from the root, even one of an element of a computed list.
        """
        if not path:
            return None
        declared: Declared | None = self.root
        for name in path[1:]:
            if declared is None:
                return None
            if name in ("@items", "@values"):
                declared = declared.element
            elif name == "@keys":
                declared = declared.key
            else:
                declared = declared.fields.get(name)
        return None if declared is None else Range(0, declared.most)

    def _size_or_unknown(self, node: Node) -> Range:
        found = self._size(node)
        return UNKNOWN if found is None else found

    def _entries(self, node: Node) -> tuple[str, Range, Range] | None:
        if node.id in self.entries:
            return self.entries[node.id]
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.entries
        return None

    # Lists and maps

    def _list(self, node: ListNode) -> Range:
        cost, size = fixed(10), Range(0 if not node.elements else UNBOUNDED, 0)
        for element in node.elements:
            cost += self.cost(element)
            size |= self._size_or_unknown(element)
        self.entries[node.id] = ("list", ONE, size)
        return cost

    def _map(self, node: MapNode) -> Range:
        least = 0 if not node.entries else UNBOUNDED
        cost, key, value = fixed(30), Range(least, 0), Range(least, 0)
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            cost += self.cost(entry.key) + self.cost(entry.value)
            key |= self._size_or_unknown(entry.key)
            value |= self._size_or_unknown(entry.value)
        self.entries[node.id] = ("map", key, value)
        return cost

    # Loops

    def _fold(self, node: Fold) -> Range:
        if (
            isinstance(node.range, ListNode)
            and not node.range.elements
            and node.condition == Literal(node.condition.id, value=False)
        ):
            return self._binding(node)
        cost = self.cost(node.range) + self.cost(node.initial)
        self._push(node.accumulator, self._path(node.initial), self._size(node.initial), self._entries(node.initial))
        self._push_iterated(node)
        each = self.cost(node.condition) + self.cost(node.step)
        self.locals[node.variable].pop()
        if node.second_variable:
            self.locals[node.second_variable].pop()
        cost += self.cost(node.result)
        self.locals[node.accumulator].pop()
        count = self._size_or_unknown(node.range)
        if isinstance(node.initial, Literal):
            self._set_size(node, self._size(node.initial))
        elif isinstance(node.initial, ListNode | MapNode):
            self.sizes[node.id] = count
            entries = self._entries(node.step)
            if entries is not None:
                self.entries[node.id] = entries
        return cost + count * each

    def _binding(self, node: Fold) -> Range:
        """Returns the cost of a loop over an empty list, which is CEL's form of a variable binding."""
        cost = self.cost(node.range) + self.cost(node.initial)
        self._push(node.accumulator, self._path(node.initial), self._size(node.initial), self._entries(node.initial))
        cost += self.cost(node.result)
        self.locals[node.accumulator].pop()
        self._set_size(node, self._size(node.result))
        return cost

    def _push(
        self, name: str, path: tuple[str, ...], size: Range | None, entries: tuple[str, Range, Range] | None = None
    ) -> None:
        self.locals.setdefault(name, []).append(_Local(path, size, entries))

    def _push_iterated(self, node: Fold) -> None:
        entries, path = self._entries(node.range), self._path(node.range)
        container = entries[0] if entries is not None else self._type(node.range).kind
        key, value = (entries[1], entries[2]) if entries is not None else (None, None)
        is_list = container == "list"
        values = (*path, "@items" if is_list else "@values")
        if node.second_variable:
            self._push(node.variable, (*path, "@indices" if is_list else "@keys"), key)
            self._push(node.second_variable, values, value)
        elif is_list:
            self._push(node.variable, values, value)
        else:
            self._push(node.variable, (*path, "@keys"), key)

    def _set_size(self, node: Node, size: Range | None) -> None:
        if size is not None:
            self.sizes[node.id] = size

    # Calls

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.arguments[0])
            self._set_size(node, self._size(node.arguments[0]))
            return cost + ONE
        costs = [self.cost(argument) for argument in node.arguments]
        arguments = [self._argument(argument) for argument in node.arguments]
        overloads = self.checked.overloads.get(node.id, [])
        if not overloads:
            return NOTHING
        own, target = NOTHING, None
        if node.target is not None and node.id not in self.checked.functions:
            own = self.cost(node.target)
            target = self._argument(node.target)
        function = self.checked.functions.get(node.id, node.function)
        total, size = Range(UNBOUNDED, 0), None
        for overload in overloads:
            cost, made = self._overload(node, function, overload, target, arguments, costs)
            total |= cost
            if made is not None:
                size = made if size is None else size | made
            if overload in ("index_list", "index_map"):
                entries = self._entries(node.arguments[0])
                size = entries[2] if entries is not None else None
                step = "@items" if overload == "index_list" else "@values"
                self.paths[node.id] = (*self._path(node.arguments[0]), step)
            if size is None:
                size = self._size(node)
        self._set_size(node, size)
        return own + total

    def _argument(self, node: Node) -> Argument:
        path = self._path(node)
        if path and path[0] in ("@result", "__result__"):
            path = ()
        return Argument(node, self._type(node), path, self._size(node))

    def _overload(
        self,
        node: Call,
        function: str,
        overload: str,
        target: Argument | None,
        arguments: list[Argument],
        costs: list[Range],
    ) -> tuple[Range, Range | None]:
        """Returns the cost of a call with its arguments, and the size of its result."""
        paid = NOTHING
        for cost in costs:
            paid += cost
        element = self._element(target) if target is not None else None
        special = library_cost(function, overload, target, arguments, element)
        if special is not None:
            return special[0] + paid, special[1]
        sizes = [UNKNOWN if argument.size is None else argument.size for argument in arguments]
        own = UNKNOWN if target is None or target.size is None else target.size
        match overload:
            case "string_format" if target is not None:
                return own.times(TRAVERSAL) + paid, None
            case "string_to_bytes":
                return sizes[0].times(TRAVERSAL) + paid, Range(sizes[0].least, min(sizes[0].most * 4, UNBOUNDED))
            case "bytes_to_string":
                return sizes[0].times(TRAVERSAL) + paid, Range(sizes[0].least // 4, sizes[0].most)
            case "strings_quote":
                return sizes[0].times(TRAVERSAL) + paid, sizes[0] + sizes[0] + fixed(2)
            case "starts_with_string" | "ends_with_string":
                return sizes[0].times(TRAVERSAL) + paid, None
            case "in_list":
                return sizes[1].times(1) + paid, None
            case "matches_string":
                return (own + ONE).times(TRAVERSAL) * sizes[0].times(REGEX) + paid, None
            case "contains_string":
                return own.times(TRAVERSAL) * sizes[0].times(TRAVERSAL) + paid, None
            case "logical_and" | "logical_or":
                return Range(costs[0].least, (costs[0] + costs[1]).most), None
            case "conditional":
                self._join_entries(node, arguments[1].node, arguments[2].node)
                return costs[0] + (costs[1] | costs[2]), sizes[1] | sizes[2]
            case "add_string" | "add_bytes" | "add_list":
                self._join_entries(node, arguments[0].node, arguments[1].node)
                size = sizes[0] + sizes[1]
                return (ONE if overload == "add_list" else size.times(TRAVERSAL)) + paid, size
        if overload in _COMPARING:
            most = min(sizes[0].most, sizes[1].most)
            return Range(1 if most else 0, most).times(TRAVERSAL) + paid, None
        return ONE + paid, None

    def _join_entries(self, node: Node, one: Node, other: Node) -> None:
        first, second = self._entries(one), self._entries(other)
        if first is not None and second is not None:
            self.entries[node.id] = (first[0], first[1] | second[1], first[2] | second[2])

    def _element(self, target: Argument) -> Element | None:
        if not target.type.parameters:
            return None
        declared = self._declared((*target.path, "@items")) if target.path else None
        return target.type.parameters[0], UNKNOWN if declared is None else declared


_COMPARING: Final = frozenset(
    {"equals", "not_equals"}
    | {
        f"{word}_{kind}"
        for word in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    }
)
