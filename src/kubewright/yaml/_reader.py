"""Reads YAML from libyaml's events, without recursion and with bounds."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, NamedTuple

from kubewright.yaml._errors import InvalidYAML
from kubewright.yaml._scalars import MERGE, plain_value, tagged_value

__all__ = [
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_SIZE",
    "compose_yaml",
    "compose_yaml_documents",
    "duplicate_keys",
    "load_yaml",
    "load_yaml_documents",
    "load_yaml_in_turns",
    "located_yaml_documents",
]

MAX_DEPTH: Final = 200
"""Levels of lists and maps. CustomResourceDefinitions of real projects stay below 80."""
MAX_NODES: Final = 1_000_000
"""Scalars, lists and maps. An alias counts with all its nodes."""
MAX_SIZE: Final = 64 * 1024 * 1024
"""Characters or bytes of the document."""

_MAX_DIRECTIVES: Final = 100
"""libyaml compares each %TAG directive with all others."""
_STEP_EVENTS: Final = 2_000
"""libyaml and this reader take about 3 ms for them."""
_COLLECTION_TAGS: Final = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def load_yaml(
    text: str | bytes,
    *,
    max_depth: int = MAX_DEPTH,
    max_nodes: int = MAX_NODES,
    max_size: int = MAX_SIZE,
    unique_keys: bool = False,
    strings_only: bool = False,
    first_only: bool = False,
) -> Any:
    """Returns the JSON value of one document, None for an empty one.

    Dates stay strings, keys become strings, aliases become copies, and `<<` merges maps. The last value of a duplicate
    key counts; `unique_keys` rejects duplicates. `strings_only` keeps every scalar a string. Raises `InvalidYAML`, also
    for a second document, unless `first_only` ignores what follows the first one.
    """
    reader = _Values(max_depth, max_nodes, max_size, strings_only=strings_only)
    documents = reader.read(text, single=True, first_only=first_only)
    if unique_keys and reader.duplicates:
        line, name = reader.duplicates[0]
        raise InvalidYAML(f"the key {name:.60} is set twice", line, 1)
    return documents[0] if documents else None


async def load_yaml_in_turns(
    text: str | bytes,
    next_turn: Callable[[], Awaitable[None]],
    *,
    max_nodes: int = MAX_NODES,
    first_only: bool = False,
) -> Any:
    """Returns what `load_yaml` returns. Awaits `next_turn` every few milliseconds, so that other tasks run."""
    reader = _Values(MAX_DEPTH, max_nodes, MAX_SIZE)
    for _ in reader.steps(text, single=True, first_only=first_only):
        await next_turn()
    return reader.documents[0] if reader.documents else None


def load_yaml_documents(text: str | bytes, *, literal_keys: bool = False) -> list[Any]:
    """Returns the JSON values of all documents; an empty document is None.

    `literal_keys` rejects a key that YAML changes: `on` and `y` become "true". Raises `InvalidYAML`.
    """
    return _Values(MAX_DEPTH, MAX_NODES, MAX_SIZE, literal_keys=literal_keys).read(text, single=False)


def located_yaml_documents(text: str | bytes) -> list[tuple[int, Any]]:
    """Returns the line and the JSON value of each document; an empty document is None.

    Raises `InvalidYAML`, also for a duplicate key. Its `document` is the number of the document.
    """
    reader = _Values(MAX_DEPTH, MAX_NODES, MAX_SIZE)
    try:
        reader.read(text, single=False)
        if reader.duplicates:
            line, name = min(reader.duplicates)
            number = sum(start <= line for start in reader.starts)
            raise InvalidYAML(f"the key {name:.60} is set twice", line, 1, document=number)
    except InvalidYAML as error:
        error.document = error.document or len(reader.documents) + 1
        raise
    return list(zip(reader.starts, reader.documents, strict=True))


def duplicate_keys(text: str | bytes) -> list[str]:
    """Returns the duplicate keys in maps of the first document, with the messages of Go's library.

    Raises `InvalidYAML`.
    """
    reader = _Values(MAX_DEPTH, MAX_NODES, MAX_SIZE)
    reader.read(text, single=True, first_only=True)
    return [f'line {line}: key "{name}" already set in map' for line, name in sorted(reader.duplicates)]


def compose_yaml(text: str, *, max_nodes: int = MAX_NODES, max_size: int = MAX_SIZE) -> Any:
    """Returns PyYAML's node of one document, with positions; None for an empty one.

    An alias is the node that it refers to, so a node can occur several times. Raises `InvalidYAML`.
    """
    documents = _Nodes(MAX_DEPTH, max_nodes, max_size).read(text, single=True)
    return documents[0] if documents else None


def compose_yaml_documents(text: str | bytes) -> list[Any]:
    """Returns PyYAML's nodes of all documents, as `compose_yaml` does for one."""
    return _Nodes(MAX_DEPTH, MAX_NODES, MAX_SIZE).read(text, single=False)


class _Built(NamedTuple):
    """A value, with the number of its nodes and levels after expanding aliases."""

    value: Any
    nodes: int
    height: int


class _Open:
    """A list or map whose end has not been read yet."""

    __slots__ = ("event", "height", "is_map", "items", "lines", "nodes")

    def __init__(self, event: Any, *, is_map: bool) -> None:
        self.event = event
        self.is_map = is_map
        self.items: list[Any] = []  # of a map: key, value, key, value
        self.lines: list[int] = []  # of the keys
        self.nodes = 1
        self.height = 1

    @property
    def expects_key(self) -> bool:
        return self.is_map and len(self.items) % 2 == 0


class _Reader:
    """Assembles documents from events. Subclasses decide how a scalar, a collection and an alias are built."""

    def __init__(self, max_depth: int, max_nodes: int, max_size: int) -> None:
        self._max_depth, self._max_nodes, self._max_size = max_depth, max_nodes, max_size
        self._left = max_nodes
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Built | None] = {}
        self.documents: list[Any] = []
        self.starts: list[int] = []
        """The line of each document."""

    def scalar(self, event: Any, *, is_key: bool) -> Any:
        raise NotImplementedError

    def collection(self, open_: _Open, end: Any) -> Any:
        raise NotImplementedError

    def alias(self, value: Any) -> Any:
        raise NotImplementedError

    def read(self, text: str | bytes, *, single: bool, first_only: bool = False) -> list[Any]:
        for _ in self.steps(text, single=single, first_only=first_only):
            pass
        return self.documents

    def steps(self, text: str | bytes, *, single: bool, first_only: bool = False) -> Iterator[None]:
        """Reads into `documents`. Yields after every `_STEP_EVENTS` events, so that other work can run in between."""
        import yaml

        for number, event in enumerate(_events(_checked_text(text, self._max_size)), 1):
            if number % _STEP_EVENTS == 0:
                yield
            if isinstance(event, yaml.ScalarEvent):
                self._add_scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._open(event, is_map=isinstance(event, yaml.MappingStartEvent))
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close(event)
            elif isinstance(event, yaml.AliasEvent):
                self._add_alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                if first_only and self.documents:
                    break
                if single and self.documents:
                    raise InvalidYAML("a second document, where one is expected", *_position(event))
                self._anchors = {}

    def _add_scalar(self, event: Any) -> None:
        self._count(1, event)
        is_key = bool(self._stack) and self._stack[-1].expects_key
        built = _Built(self.scalar(event, is_key=is_key), 1, 0)
        if event.anchor:
            self._anchors[event.anchor] = built
        self._attach(built, event)

    def _add_alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise InvalidYAML("an alias of an anchor that the document does not define", *_position(event))
        built = self._anchors[event.anchor]
        if built is None:
            raise InvalidYAML("an anchor whose value contains itself", *_position(event))
        self._count(built.nodes, event)
        self._check_depth(len(self._stack) + built.height, event)
        self._attach(_Built(self.alias(built.value), built.nodes, built.height), event)

    def _open(self, event: Any, *, is_map: bool) -> None:
        self._count(1, event)
        self._check_depth(len(self._stack) + 1, event)
        if event.tag not in _COLLECTION_TAGS:
            raise InvalidYAML("a tag that JSON has no value for: remove the tag", *_position(event))
        if event.anchor:
            self._anchors[event.anchor] = None
        self._stack.append(_Open(event, is_map=is_map))

    def _close(self, end: Any) -> None:
        open_ = self._stack.pop()
        built = _Built(self.collection(open_, end), open_.nodes, open_.height)
        if open_.event.anchor:
            self._anchors[open_.event.anchor] = built
        self._attach(built, open_.event)

    def _attach(self, built: _Built, event: Any) -> None:
        if not self._stack:
            self.documents.append(built.value)
            self.starts.append(event.start_mark.line + 1)
            return
        parent = self._stack[-1]
        if parent.expects_key:
            parent.lines.append(event.start_mark.line + 1)
        parent.items.append(built.value)
        parent.nodes += built.nodes
        parent.height = max(parent.height, built.height + 1)

    def _count(self, nodes: int, event: Any) -> None:
        self._left -= nodes
        if self._left < 0:
            problem = f"more than {self._max_nodes} values once its aliases are expanded"
            raise InvalidYAML(problem, *_position(event))

    def _check_depth(self, depth: int, event: Any) -> None:
        if depth > self._max_depth:
            raise InvalidYAML(f"nested more than {self._max_depth} levels deep", *_position(event))


class _Values(_Reader):
    """Builds JSON values."""

    def __init__(
        self, max_depth: int, max_nodes: int, max_size: int, *, strings_only: bool = False, literal_keys: bool = False
    ) -> None:
        super().__init__(max_depth, max_nodes, max_size)
        self._strings_only = strings_only
        self._literal_keys = literal_keys
        self.duplicates: list[tuple[int, str]] = []

    def scalar(self, event: Any, *, is_key: bool) -> Any:
        if self._strings_only:
            return event.value
        plain, _ = event.implicit
        if event.tag is not None and not plain:
            return tagged_value(event.tag, event.value, event.start_mark.line + 1)
        if not plain:
            return event.value
        if is_key and event.value == MERGE:
            return _MERGE
        value = plain_value(event.value)
        if isinstance(value, float) and not math.isfinite(value):
            name = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
            raise InvalidYAML(f"unsupported value: {name}", *_position(event))
        if is_key and self._literal_keys and _key(value, event.start_mark.line + 1) != event.value:
            problem = f"YAML reads the key {event.value:.60} as {str(value).lower():.60}: write it in quotes"
            raise InvalidYAML(problem, *_position(event))
        return value

    def collection(self, open_: _Open, end: Any) -> Any:
        if not open_.is_map:
            return open_.items
        made: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for line, key, value in zip(open_.lines, open_.items[::2], open_.items[1::2], strict=True):
            if key is _MERGE:
                for source in value if isinstance(value, list) else [value]:
                    if not isinstance(source, dict):
                        raise InvalidYAML("<< merges something that is not a map", line, 1)
                    merged = source | merged
                continue
            name = _key(key, line)
            if name in made:
                self.duplicates.append((line, name))
            made[name] = value
        return merged | made if merged else made

    def alias(self, value: Any) -> Any:
        return _copy(value)


class _Nodes(_Reader):
    """Builds PyYAML's nodes, for callers that need positions."""

    def scalar(self, event: Any, *, is_key: bool) -> Any:
        import yaml

        return yaml.ScalarNode(event.tag, event.value, event.start_mark, event.end_mark, style=event.style)

    def collection(self, open_: _Open, end: Any) -> Any:
        import yaml

        start = open_.event
        where = {"start_mark": start.start_mark, "end_mark": end.end_mark, "flow_style": start.flow_style}
        if open_.is_map:
            pairs = list(zip(open_.items[::2], open_.items[1::2], strict=True))
            return yaml.MappingNode(start.tag, pairs, **where)
        return yaml.SequenceNode(start.tag, open_.items, **where)

    def alias(self, value: Any) -> Any:
        return value


_MERGE: Final = object()


def _key(key: Any, line: int) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    if isinstance(key, float):
        return f"{key:g}"
    raise InvalidYAML("a key that is not a string: write it in quotes", line, 1)


def _copy(value: Any) -> Any:
    """Copies a JSON value; its depth is bounded."""
    if isinstance(value, dict):
        return {name: _copy(member) for name, member in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _checked_text(text: str | bytes, max_size: int) -> str:
    if len(text) > max_size:
        raise InvalidYAML(f"larger than {max_size} bytes")
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise InvalidYAML(f"not UTF-8 at byte {error.start}") from None
    if text.count("\n%") + text.count("\r%") > _MAX_DIRECTIVES:
        raise InvalidYAML(f"more than {_MAX_DIRECTIVES} lines that begin with %")
    return text


def _events(text: str) -> Iterator[Any]:
    import yaml

    try:
        yield from yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise InvalidYAML(error.problem or error.context or "not YAML", *position) from None
    except yaml.YAMLError as error:
        raise InvalidYAML(getattr(error, "reason", None) or "not YAML") from None
    except UnicodeEncodeError:
        raise InvalidYAML("half of a surrogate pair, which cannot be encoded") from None


def _position(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1
