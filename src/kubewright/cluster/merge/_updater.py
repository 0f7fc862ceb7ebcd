"""Ownership of fields after a write, and the result of an apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from kubewright.cluster.merge._entries import Entries, Manager, Owned
from kubewright.cluster.merge._fields_of import Comparison, compare, fields_of
from kubewright.cluster.merge._trees import (
    EMPTY,
    Tree,
    difference,
    intersection,
    named_fields,
    paths,
    recursive_difference,
    union,
)
from kubewright.cluster.merge._typed import merge, remove, schema_errors, with_schema_changes
from kubewright.cluster.schema import Schema

__all__ = ["Conflict", "Conflicts", "Unmergeable", "Updater"]

Object: TypeAlias = dict[str, Any]


class Conflict(NamedTuple):
    """A field that another manager owns and that an apply would change."""

    manager: Manager
    path: tuple[str, ...]


class Conflicts(Exception):
    """An apply would change fields of other managers."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts


class Unmergeable(Exception):
    """The object does not match the schema of a version in which a manager owns fields."""


class Updater:
    """The rules for one version of one resource.

    `schema_of` returns the schema at a version, None if the version is not served; `convert` the object at a version;
    `reset` the fields, by version, that writes here never change.
    """

    def __init__(
        self,
        api_version: str,
        schema_of: Callable[[str], Schema | None],
        convert: Callable[[Object, str], Object],
        reset: Mapping[str, Tree],
    ) -> None:
        self._version = api_version
        self._schema_of = schema_of
        self._convert = convert
        self._reset = reset

    def schema(self, api_version: str) -> Schema:
        """Returns the schema at a served version."""
        schema = self._schema_of(api_version)
        assert schema is not None, api_version
        return schema

    def update(self, live: Object, new: Object, entries: Entries) -> tuple[Entries, Tree]:
        """Returns all entries after `live` became `new`, and the fields that the writer of this change owns."""
        entries = self._with_schema_changes(live, entries)
        entries, changes = self._changed(live, new, entries, None, force=True)
        return entries, self._without_reset(union(changes.modified, changes.added))

    def apply(
        self, live: Object, config: Object, entries: Entries, manager: Manager, *, force: bool
    ) -> tuple[Object, Entries]:
        """Returns the object after an apply, and all entries; the applier keeps the time of its last entry.

        Raises `Conflicts` unless forced.
        """
        entries = self._with_schema_changes(live, entries)
        schema = self.schema(self._version)
        merged = merge(schema, live, config)
        last = entries.get(manager)
        applied = self._without_reset(fields_of(schema, config))
        entries[manager] = Owned(applied, self._version, last.time if last else None)
        if last is not None and last.tree:
            merged = self._pruned(merged, entries, last)
        entries, _ = self._changed(live, merged, entries, manager, force=force)
        return merged, entries

    def _without_reset(self, tree: Tree) -> Tree:
        reset = self._reset.get(self._version)
        return recursive_difference(tree, reset) if reset else tree

    def _with_schema_changes(self, live: Object, entries: Entries) -> Entries:
        """Converts the entries to the current schemas; drops those of versions that are no longer served."""
        result = {}
        for manager, owned in entries.items():
            schema = self._schema_of(owned.api_version)
            if schema is not None:
                self._at(live, owned.api_version, "")
                tree = with_schema_changes(owned.tree, schema)
                result[manager] = owned if tree is owned.tree else owned._replace(tree=tree)
        return result

    def _changed(
        self, live: Object, new: Object, entries: Entries, writer: Manager | None, *, force: bool
    ) -> tuple[Entries, Comparison]:
        """Removes changed fields from all managers except the writer. Raises `Conflicts` unless forced."""
        comparisons = {self._version: self._compared(live, new, self._version)}
        conflicts: dict[Manager, Tree] = {}
        for manager, owned in entries.items():
            if manager == writer:
                continue
            version = owned.api_version
            if version not in comparisons:
                comparisons[version] = self._compared(
                    self._at(live, version, "failed to convert old object: "),
                    self._at(new, version, "failed to convert new object: "),
                    version,
                )
            _, modified, added = comparisons[version]
            taken = intersection(owned.tree, union(modified, added)) if modified or added else EMPTY
            if taken:
                conflicts[manager] = taken
        if conflicts and not force:
            raise Conflicts(
                [
                    Conflict(manager, path)
                    for manager in sorted(conflicts, key=Manager.identity)
                    for path in paths(conflicts[manager])
                ]
            )
        result = {}
        for manager, owned in entries.items():
            tree = owned.tree
            if manager != writer:
                if manager in conflicts:
                    tree = difference(tree, conflicts[manager])
                tree = difference(tree, comparisons[owned.api_version].removed)
            if tree:
                result[manager] = owned if tree is owned.tree else owned._replace(tree=tree)
        return result, comparisons[self._version]

    def _at(self, obj: Object, version: str, what: str) -> Object:
        """Returns the object at another version. Raises `Unmergeable` if it does not match the schema there."""
        if obj.get("apiVersion", self._version) == version:
            return obj
        converted = self._convert(obj, version)
        wrong = schema_errors(self.schema(version), converted)
        if wrong:
            raise Unmergeable(what + wrong)
        return converted

    def _compared(self, live: Object, new: Object, version: str) -> Comparison:
        comparison = compare(self.schema(version), live, new)
        reset = self._reset.get(version)
        return Comparison(*(recursive_difference(tree, reset) for tree in comparison)) if reset else comparison

    def _pruned(self, merged: Object, entries: Entries, last: Owned) -> Object:
        """Returns the merged object without fields that the manager no longer applies and no other manager owns."""
        version = last.api_version
        if self._schema_of(version) is None:
            return merged
        owned_by_version: dict[str, Tree] = {}
        for owned in entries.values():
            owned_by_version[owned.api_version] = union(owned_by_version.get(owned.api_version, EMPTY), owned.tree)
        if version == self._version and not difference(last.tree, owned_by_version.get(version, EMPTY)):
            return merged  # every field is still owned, so each removed one would be restored
        failed = "failed to prune fields: failed to convert merged object to last applied version: "
        merged = self._at(merged, version, failed)
        schema = self.schema(version)
        last_named = named_fields(last.tree, schema)
        pruned = remove(schema, merged, last_named) or {}
        ours = owned_by_version.pop(version, None)
        if ours is not None:
            pruned = self._owned_put_back(merged, pruned, version, ours)
        for other, owned_there in owned_by_version.items():
            if self._schema_of(other) is not None:
                failed = "failed to prune fields: failed add back owned items: failed to convert {} object at version "
                there = self._owned_put_back(
                    self._at(merged, other, f"{failed.format('merged')}{other}: "),
                    self._at(pruned, other, f"{failed.format('pruned')}{other}: "),
                    other,
                    owned_there,
                )
                pruned = self._convert(there, version)
        merged_named = named_fields(fields_of(schema, merged), schema)
        pruned_named = named_fields(fields_of(schema, pruned), schema)
        gone = intersection(difference(merged_named, pruned_named), last_named)
        return self._at(remove(schema, merged, gone) or {}, self._version, "failed to prune fields: ")

    def _owned_put_back(self, merged: Object, pruned: Object, version: str, owned: Tree) -> Object:
        schema = self.schema(version)
        merged_named = named_fields(fields_of(schema, merged), schema)
        kept = union(named_fields(fields_of(schema, pruned), schema), named_fields(owned, schema))
        put_back: Object = remove(schema, merged, difference(merged_named, kept)) or {}
        return put_back
