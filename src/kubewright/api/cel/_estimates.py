"""What an expression may cost at most, before it has ever run: the API server refuses what could take too long.

Costs and sizes are ranges from the least to the most; a bound that is not known is `UNBOUNDED`. The estimates are the
server's own, unit by unit: whether a definition is accepted hangs on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from kubewright.api.cel._checker import Checked
from kubewright.api.cel._nodes import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select, StructNode
from kubewright.api.cel._schemas import Declared
from kubewright.api.cel._types import Type

__all__ = ["UNBOUNDED", "estimate"]

UNBOUNDED: Final = 2**64 - 1
_TRAVERSAL: Final = 0.1
_REGEX: Final = 0.25
_LONGEST_NAME_PATTERN: Final = 128


@dataclass(frozen=True, slots=True)
class Range:
    """From the least to the most."""

    least: int
    most: int

    def __add__(self, other: Range) -> Range:
        return Range(min(self.least + other.least, UNBOUNDED), min(self.most + other.most, UNBOUNDED))

    def __mul__(self, other: Range) -> Range:
        return Range(min(self.least * other.least, UNBOUNDED), min(self.most * other.most, UNBOUNDED))

    def times(self, factor: float) -> Range:
        """Multiplied by a cost for each unit, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def __or__(self, other: Range) -> Range:
        """What covers both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def _scaled(value: int, factor: float) -> int:
    product = float(value) * factor
    return UNBOUNDED if product >= float(2**64) else math.ceil(product)


def _fixed(value: int) -> Range:
    return Range(value, value)


_NOTHING: Final = Range(0, 0)
_ONE: Final = Range(1, 1)
_UNKNOWN: Final = Range(0, UNBOUNDED)


def estimate(checked: Checked, root: Declared) -> int:
    """The most that the expression may cost, given what its variables, `self` and `oldSelf`, are declared to be."""
    return _Estimator(checked, root).cost(checked.syntax.root).most


@dataclass(slots=True)
class _Local:
    path: tuple[str, ...]
    size: Range | None
    entries: tuple[str, Range, Range] | None


@dataclass(slots=True)
class _Argument:
    node: Node
    type: Type
    path: tuple[str, ...]
    size: Range | None


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
                return _NOTHING
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
                return _fixed(40)
            case Fold():
                return self._fold(node)

    # Names

    def _ident(self, id_: int, name: str) -> Range:
        local = self._local(name)
        self.paths[id_] = local.path if local is not None else (name,)
        return _ONE

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
        return cost + _ONE if self._type(node.operand).kind in ("map", "struct", "parameter") else cost

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
                return _fixed(len(value))
            case Literal():
                return _ONE
            case ListNode(elements=elements):
                return _fixed(len(elements))
            case MapNode(entries=entries):
                return _fixed(len(entries))
        declared = self._declared(self._path(node))
        if declared is not None:
            self.sizes[node.id] = declared
            return declared
        if self._type(node).is_scalar:
            return _ONE
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.size
        return None

    def _declared(self, path: tuple[str, ...]) -> Range | None:
        """The size of what stands at a path, from the schema.

        The server takes every path to begin at the root, also that of an element of something computed; so do we.
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
        return _UNKNOWN if found is None else found

    def _entries(self, node: Node) -> tuple[str, Range, Range] | None:
        if node.id in self.entries:
            return self.entries[node.id]
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.entries
        return None

    # What is built

    def _list(self, node: ListNode) -> Range:
        cost, size = _fixed(10), Range(0 if not node.elements else UNBOUNDED, 0)
        for element in node.elements:
            cost += self.cost(element)
            size |= self._size_or_unknown(element)
        self.entries[node.id] = ("list", _ONE, size)
        return cost

    def _map(self, node: MapNode) -> Range:
        least = 0 if not node.entries else UNBOUNDED
        cost, key, value = _fixed(30), Range(least, 0), Range(least, 0)
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
        """A loop over nothing gives a name to a value."""
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
            return cost + _ONE
        costs = [self.cost(argument) for argument in node.arguments]
        arguments = [self._argument(argument) for argument in node.arguments]
        overloads = self.checked.overloads.get(node.id, [])
        if not overloads:
            return _NOTHING
        own, target = _NOTHING, None
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

    def _argument(self, node: Node) -> _Argument:
        path = self._path(node)
        if path and path[0] in ("@result", "__result__"):
            path = ()
        return _Argument(node, self._type(node), path, self._size(node))

    def _overload(
        self,
        node: Call,
        function: str,
        overload: str,
        target: _Argument | None,
        arguments: list[_Argument],
        costs: list[Range],
    ) -> tuple[Range, Range | None]:
        """The cost of a call with its arguments, and the size of what it gives."""
        paid = _NOTHING
        for cost in costs:
            paid += cost
        special = self._library(function, overload, target, arguments)
        if special is not None:
            return special[0] + paid, special[1]
        sizes = [_UNKNOWN if argument.size is None else argument.size for argument in arguments]
        own = _UNKNOWN if target is None or target.size is None else target.size
        match overload:
            case "string_format" if target is not None:
                return own.times(_TRAVERSAL) + paid, None
            case "string_to_bytes":
                return sizes[0].times(_TRAVERSAL) + paid, Range(sizes[0].least, min(sizes[0].most * 4, UNBOUNDED))
            case "bytes_to_string":
                return sizes[0].times(_TRAVERSAL) + paid, Range(sizes[0].least // 4, sizes[0].most)
            case "strings_quote":
                return sizes[0].times(_TRAVERSAL) + paid, sizes[0] + sizes[0] + _fixed(2)
            case "starts_with_string" | "ends_with_string":
                return sizes[0].times(_TRAVERSAL) + paid, None
            case "in_list":
                return sizes[1].times(1) + paid, None
            case "matches_string":
                return (own + _ONE).times(_TRAVERSAL) * sizes[0].times(_REGEX) + paid, None
            case "contains_string":
                return own.times(_TRAVERSAL) * sizes[0].times(_TRAVERSAL) + paid, None
            case "logical_and" | "logical_or":
                return Range(costs[0].least, (costs[0] + costs[1]).most), None
            case "conditional":
                self._join_entries(node, arguments[1].node, arguments[2].node)
                return costs[0] + (costs[1] | costs[2]), sizes[1] | sizes[2]
            case "add_string" | "add_bytes" | "add_list":
                self._join_entries(node, arguments[0].node, arguments[1].node)
                size = sizes[0] + sizes[1]
                return (_ONE if overload == "add_list" else size.times(_TRAVERSAL)) + paid, size
        if overload in _COMPARING:
            most = min(sizes[0].most, sizes[1].most)
            return Range(1 if most else 0, most).times(_TRAVERSAL) + paid, None
        return _ONE + paid, None

    def _join_entries(self, node: Node, one: Node, other: Node) -> None:
        first, second = self._entries(one), self._entries(other)
        if first is not None and second is not None:
            self.entries[node.id] = (first[0], first[1] | second[1], first[2] | second[2])

    def _library(
        self, function: str, overload: str, target: _Argument | None, arguments: list[_Argument]
    ) -> tuple[Range, Range | None] | None:
        """The costs of extensions and of Kubernetes' own functions; nothing for CEL's."""
        sizes = [_UNKNOWN if argument.size is None else argument.size for argument in arguments]
        own = _UNKNOWN if target is None or target.size is None else target.size
        if (made := _list_made(function, overload, own, sizes, arguments)) is not None:
            return made
        if function in _NOMINAL or overload == "cidr_ip":
            return _ONE, None
        if function in _PARSING and sizes:
            factor = 2 * _TRAVERSAL if function == "ip.isCanonical" else _TRAVERSAL
            return sizes[0].times(factor), sizes[0] if function == "url" else None
        match function:
            case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" if target is not None:
                return self._over_elements(target, own), None
            case "lowerAscii" | "upperAscii" | "substring" | "trim":
                return own.times(_TRAVERSAL), own
            case "replace":
                return own.times(2 * _TRAVERSAL), _replaced(own, sizes[0], sizes[1])
            case "split":
                return own.times(2 * _TRAVERSAL), Range(0, _pieces(arguments, own.most))
            case "join" if target is not None:
                size = self._joined(target, own, sizes)
                return size.times(_TRAVERSAL), size
            case "find" | "findAll":
                return (own + _ONE).times(_TRAVERSAL) * sizes[0].times(_REGEX), Range(0, own.most)
            case "containsIP" | "containsCIDR":
                return _containing(function, overload, sizes[0]), None
            case "validate":
                return sizes[0].times(_TRAVERSAL).times(_LONGEST_NAME_PATTERN * _REGEX), None
            case "_==_" if arguments[0].type == arguments[1].type and arguments[0].type.name in _CHEAP_EQUALITY:
                return _ONE, None
        return None

    def _element(self, target: _Argument) -> tuple[Type, Range] | None:
        if not target.type.parameters:
            return None
        declared = self._declared((*target.path, "@items")) if target.path else None
        return target.type.parameters[0], _UNKNOWN if declared is None else declared

    def _over_elements(self, target: _Argument, size: Range) -> Range:
        element = self._element(target)
        if element is None:
            return size.times(_TRAVERSAL)
        each = _ONE
        if element[0].name in ("string", "bytes"):
            each += element[1].times(_TRAVERSAL)
        return size * each

    def _joined(self, target: _Argument, count: Range, sizes: list[Range]) -> Range:
        element = self._element(target)
        size = count * element[1] if element is not None else _NOTHING
        if sizes:
            size += sizes[0] * Range(max(count.least - 1, 0), max(count.most - 1, 0))
        return size


def _list_made(
    function: str, overload: str, own: Range, sizes: list[Range], arguments: list[_Argument]
) -> tuple[Range, Range | None] | None:
    """The costs of the functions that make lists out of lists, or hold every element against every other."""
    factor, size = 1.0, own
    match function:
        case "sets.contains" | "sets.intersects" | "sets.equivalent":
            product = (sizes[0] * sizes[1]).times(2 if function == "sets.equivalent" else 1)
            return product + _ONE, None
        case "slice":
            size = _fixed(max(_number(arguments[1], own.most) - _number(arguments[0], 0), 0))
        case "lists.range":
            size = _fixed(_number(arguments[0], UNBOUNDED))
        case "flatten":
            factor = float(_number(arguments[0], UNBOUNDED)) if arguments else 1.0
        case "reverse":
            pass
        case "distinct" | "sort" | "@sortByAssociatedKeys":
            counted = sizes[0] if function == "@sortByAssociatedKeys" else own
            size = counted * counted
            factor = 2.1 if overload.startswith(("list_string_", "list_bytes_")) else 2.0
        case _:
            return None
    return size.times(factor) + _fixed(11), size


def _number(argument: _Argument, otherwise: int) -> int:
    """A number that is written out."""
    value = argument.node.value if isinstance(argument.node, Literal) else None
    return value if isinstance(value, int) and value >= 0 else otherwise


def _pieces(arguments: list[_Argument], most: int) -> int:
    if len(arguments) > 1 and isinstance(arguments[1].node, Literal) and isinstance(arguments[1].node.value, int):
        limit = arguments[1].node.value
        return limit if limit >= 0 else UNBOUNDED
    return most


def _replaced(size: Range, old: Range, new: Range) -> Range:
    """The size of a text after replacing."""

    def one_end(length: int, smallest: int, *, keeps: bool) -> tuple[int, int]:
        """How often at most (or at least), and how much stays."""
        if smallest == 0:
            return min(length + 1, UNBOUNDED), length
        if keeps:
            return 0, length
        return math.ceil(float(length) / float(smallest)), 0

    most_count, most_kept = one_end(size.most, old.least, keeps=new.most <= old.least)
    least_count, least_kept = one_end(size.least, old.most, keeps=old.most <= new.least)
    return Range(least_count, min(most_count, UNBOUNDED)) * new + Range(least_kept, most_kept)


def _containing(function: str, overload: str, argument: Range) -> Range:
    size = Range(4, 16)
    cost = (size + size).times(_TRAVERSAL)
    if function == "containsCIDR":
        cost += size.times(_TRAVERSAL) + _ONE
    return cost + argument.times(_TRAVERSAL) if overload.endswith("_string") else cost


_NOMINAL: Final = frozenset(
    {
        "masked",
        "prefixLength",
        "family",
        "isUnspecified",
        "isLoopback",
        "isLinkLocalMulticast",
        "isLinkLocalUnicast",
        "isGlobalUnicast",
        "format.named",
        "sign",
        "asInteger",
        "isInteger",
        "asApproximateFloat",
        "isGreaterThan",
        "isLessThan",
        "compareTo",
        "add",
        "sub",
        "major",
        "minor",
        "patch",
        "getScheme",
        "getHostname",
        "getHost",
        "getPort",
        "getEscapedPath",
        "getQuery",
    }
)
_PARSING: Final = frozenset(
    {"url", "cidr", "isIP", "isCIDR", "ip", "ip.isCanonical", "quantity", "isQuantity", "semver", "isSemver"}
)
_CHEAP_EQUALITY: Final = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"})
_COMPARING: Final = frozenset(
    {"equals", "not_equals"}
    | {
        f"{word}_{kind}"
        for word in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    }
)
