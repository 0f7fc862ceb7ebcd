"""Managed fields of creates, updates and applies, like the server's field manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.api.wire import canonical_json, equal_json
from kubewright.cluster.merge._elements import ElementError, format_step
from kubewright.cluster.merge._entries import (
    Entries,
    Manager,
    Owned,
    encode_entries,
    is_reset,
    manager_of,
    read_entries,
)
from kubewright.cluster.merge._errors import Refused, bad_request, refusing_depth
from kubewright.cluster.merge._fields_of import compare, fields_of
from kubewright.cluster.merge._go import quoted
from kubewright.cluster.merge._trees import Tree, difference, has, tree_of, union
from kubewright.cluster.merge._typed import schema_errors
from kubewright.cluster.merge._updater import Conflict, Conflicts, Unmergeable, Updater
from kubewright.cluster.schema import Schema, zero_object

__all__ = ["FieldManager", "manager_name"]

Object: TypeAlias = dict[str, Any]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS_LIMIT: Final = 256 * 1024
_MOST_UPDATERS: Final = 10
_OLD_UPDATES: Final = "ancient-changes"
_BEFORE_APPLY: Final = "before-first-apply"
# Fields without owners: those that identify the object, and those that the server sets.
_UNOWNED: Final = tree_of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)


def manager_name(field_manager: str, user_agent: str) -> str:
    """Returns the field manager of a request: the given one, else the first part of the user agent."""
    return field_manager or _printable(user_agent.partition("/")[0])


def _printable(text: str) -> str:
    """Returns at most 128 bytes without unprintable characters, as the server truncates a user agent."""
    kept = ""
    for character in text:
        if not character.isprintable() or len((kept + character).encode()) > 128:
            break
        kept += character
    return kept


def _only_named(obj: Object, api_version: str) -> Object:
    return obj if obj.get("apiVersion") == api_version else obj | {"apiVersion": api_version}


class FieldManager:
    """Managed fields of one version of one resource, or of one of its subresources. Stateless.

    `schema_of` returns the schema of the kind at a version, None if that version is not served. `reset` contains, by
    version, the fields that writes here never change (`reset_fields`). `convert` converts an object to a version; by
    default only the apiVersion changes. `default` sets defaults in place, after an apply has merged.
    """

    def __init__(
        self,
        api_version: str,
        kind: str,
        *,
        schema_of: Callable[[str], Schema | None],
        subresource: str = "",
        reset: Mapping[str, Tree] | None = None,
        convert: Callable[[Object, str], Object] | None = None,
        default: Callable[[Object], None] | None = None,
    ) -> None:
        self.api_version = api_version
        self.kind = kind
        self.subresource = subresource
        self._updater = Updater(api_version, schema_of, convert or _only_named, reset or {})
        self._default = default
        self._zero: Object | None = None

    @refusing_depth
    def update(self, live: Object | None, new: Object, name: str, now: str) -> Object:
        """Returns the new object of a create, a PUT or a patch, with its managed fields.

        `live` is None for a create. A new object with list elements that cannot be identified has no managed fields.
        """
        entries = self._entries(live, new)
        body = _without_entries(new)
        if not entries and live is not None and live.get("metadata", {}).get("uid"):
            return body  # fields are not tracked before the first apply
        try:
            entries = self._updated(self._empty() if live is None else _without_entries(live), body, entries, name, now)
        except (ElementError, Unmergeable):
            return body  # like the server: errors in tracking never reject a write
        return _with_entries(body, entries)

    def _updated(self, live: Object, new: Object, entries: Entries, name: str, now: str) -> Entries:
        entries, tree = self._updater.update(live, new, entries)
        tree = difference(tree, _UNOWNED)
        if tree:
            manager = manager_of(name, "Update", self.api_version, self.subresource)
            before = entries.get(manager)
            entries[manager] = Owned(union(tree, before.tree) if before else tree, self.api_version, now)
        return _capped(entries)

    def _entries(self, live: Object | None, new: Object) -> Entries:
        before = (live or {}).get("metadata", {}).get("managedFields")
        given = new.get("metadata", {}).get("managedFields")
        if not self.subresource:
            if is_reset(given):
                return {}
            try:
                entries = read_entries(given)
            except (ValueError, AttributeError):
                entries = {}
            if entries:
                return entries
        try:
            return read_entries(before)
        except (ValueError, AttributeError):
            return {}

    @refusing_depth
    def apply(self, live: Object | None, config: Object, name: str, now: str, *, force: bool = False) -> Object:
        """Returns the object after a server-side apply, with its managed fields; `live` is None if it does not exist.

        Raises `Refused`, like the server: 409 with the conflicts as causes, 400 for a config of another kind, 500 for a
        config that does not match the schema.
        """
        self._check(config)
        try:
            entries = read_entries((live or {}).get("metadata", {}).get("managedFields"))
        except (ValueError, AttributeError) as error:
            raise Refused(500, "", f"failed to decode managed fields: {error}") from None
        before = self._empty() if live is None else _without_entries(live)
        if not entries:
            entries = self._updated(self._empty(), before, entries, _BEFORE_APPLY, now)
        try:
            after, entries = self._applied(before, config, entries, name, now, force=force)
        except Conflicts as found:
            conflicts = found.conflicts
            if name == "kubectl":
                allowed = self._last_applied(before)
                conflicts = [each for each in conflicts if not has(allowed, *each.path)]
            if conflicts:
                raise _refused(conflicts) from None
            after, entries = self._applied(before, config, entries, name, now, force=True)
        except (ElementError, Unmergeable) as error:
            raise Refused(500, "", str(error)) from None
        if name == "kubectl":
            after = _with_last_applied(after, config)
        return _with_entries(after, entries)

    def _check(self, config: Object) -> None:
        version, kind = config.get("apiVersion", ""), config.get("kind", "")
        if (version, kind) != (self.api_version, self.kind):
            raise bad_request(f"invalid object type: {_group_version_kind(version, kind)}")
        if config.get("metadata", {}).get("managedFields") is not None:
            raise bad_request("metadata.managedFields must be nil")
        wrong = schema_errors(self._updater.schema(self.api_version), config)
        if wrong:
            metadata = config.get("metadata", {})
            what = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {_group_version_kind(version, kind)}"
            raise Refused(500, "", f"failed to create typed patch object ({what}): {wrong}")

    def _applied(
        self, live: Object, config: Object, entries: Entries, name: str, now: str, *, force: bool
    ) -> tuple[Object, Entries]:
        manager = manager_of(name, "Apply", self.api_version, self.subresource)
        merged, entries = self._updater.apply(live, config, entries, manager, force=force)
        owned = entries.get(manager)
        if owned is not None:
            tree = difference(owned.tree, _UNOWNED)
            if tree:
                entries[manager] = owned._replace(tree=tree)
            else:
                del entries[manager]
        if equal_json(live, merged):
            return live, entries
        if manager in entries:
            entries[manager] = entries[manager]._replace(time=now)
        if self._default is not None:
            merged = msgspec.json.decode(msgspec.json.encode(merged))  # parts of it belong to the live object
            self._default(merged)
        return merged, entries

    def _last_applied(self, live: Object) -> Tree:
        """Returns the fields in kubectl's last-applied annotation that are unchanged: kubectl may take them over."""
        schema = self._updater.schema(self.api_version)
        text = live.get("metadata", {}).get("annotations", {}).get(LAST_APPLIED)
        try:
            applied = msgspec.json.decode(text) if text else None
        except msgspec.DecodeError:
            return {}
        if not isinstance(applied, dict) or applied.get("apiVersion") != self.api_version:
            return {}
        if schema_errors(schema, applied):
            return {}
        tree = fields_of(schema, applied)
        for changed in compare(schema, applied, live):
            tree = difference(tree, changed)
        return tree

    def _empty(self) -> Object:
        if self._zero is None:
            named = {"apiVersion": self.api_version, "kind": self.kind}
            self._zero = zero_object(self._updater.schema(self.api_version)) | named
        return self._zero


def _group_version_kind(api_version: str, kind: str) -> str:
    """Formats a kind like Go; the core group is empty."""
    return f"{api_version if '/' in api_version else '/' + api_version}, Kind={kind}"


def _capped(entries: Entries) -> Entries:
    """Merges the oldest update entries of a version until the number is within the limit."""
    updaters = [manager for manager in entries if manager.operation == "Update"]
    if len(updaters) <= _MOST_UPDATERS:
        return entries
    updaters.sort(key=lambda manager: (entries[manager].time or "", manager.identity()))
    left = len(updaters)
    first: dict[str, Manager] = {}
    for manager in updaters:
        if left <= _MOST_UPDATERS:
            break
        owned = entries[manager]
        version = owned.api_version
        bucket = Manager(_OLD_UPDATES, "Update", version, "")
        if version not in first:
            first[version] = manager
            continue
        if bucket not in entries:
            entries[bucket] = entries.pop(first[version])
        del entries[manager]
        entries[bucket] = Owned(union(owned.tree, entries[bucket].tree), version, owned.time)
        left -= 1
    return entries


def _without_entries(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return obj | {"metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _with_entries(obj: Object, entries: Entries) -> Object:
    if not entries:
        return _without_entries(obj)
    return obj | {"metadata": {**(obj.get("metadata") or {}), "managedFields": encode_entries(entries)}}


def _with_last_applied(obj: Object, config: Object) -> Object:
    """Returns the object with an updated last-applied annotation, if it has one."""
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return obj
    its = config.get("metadata") or {}
    if LAST_APPLIED in (its.get("annotations") or {}):
        rest = {name: value for name, value in its["annotations"].items() if name != LAST_APPLIED}
        its = {name: value for name, value in its.items() if name != "annotations"} | (
            {"annotations": rest} if rest else {}
        )
        config = config | {"metadata": its}
    text = canonical_json(config).decode() + "\n"
    for character, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(character, escape)
    changed = annotations | {LAST_APPLIED: text}
    if sum(len(name.encode()) + len(value.encode()) for name, value in changed.items()) > _ANNOTATIONS_LIMIT:
        del changed[LAST_APPLIED]
    return obj | {"metadata": metadata | {"annotations": changed}}


def _refused(conflicts: list[Conflict]) -> Refused:
    causes = tuple(
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_described(conflict.manager)}",
            "field": _path(conflict),
        }
        for conflict in conflicts
    )
    if len(conflicts) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = []
        for manager in dict.fromkeys(conflict.manager for conflict in conflicts):
            lines.append(f"conflicts with {_described(manager)}:")
            lines += [f"- {_path(conflict)}" for conflict in conflicts if conflict.manager == manager]
        message = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
    return Refused(409, "Conflict", message, causes)


def _path(conflict: Conflict) -> str:
    return "".join(map(format_step, conflict.path))


def _described(manager: Manager) -> str:
    text = quoted(manager.name)
    if manager.subresource:
        text += f" with subresource {quoted(manager.subresource)}"
    return f"{text} using {manager.api_version}" if manager.operation == "Update" else text
