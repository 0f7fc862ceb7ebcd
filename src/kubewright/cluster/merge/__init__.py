"""Merging for the embedded cluster: patches, server-side apply and managed fields. Pure functions, no I/O.

Objects are dicts as decoded from JSON. No function here changes its arguments, and results may share parts with them:
treat both as immutable, or copy before you change them.

Patches. Decode the result (prune, default) and call `FieldManager.update`, as for any write:

    json_patch(document, patch: bytes) -> Any               # RFC 6902; at most 10,000 operations
    merge_patch(document, patch) -> Any                     # RFC 7386
    strategic_merge_patch(document, patch, schema) -> dict  # built-in kinds only: schema from `builtin_schema`
    structured_merge(document, patch, schema) -> dict       # like an apply, without ownership

    strict_patch_errors(patch: bytes, is_json_patch=False) -> list[str]   # for fieldValidation Strict and Warn

Invalid requests raise `Refused`: `code`, `reason`, `message` and `causes` are those of the server's Status.

Managed fields. One `FieldManager` for each resource, version and subresource:

    manager = FieldManager(
        "apps/v1", "Deployment",
        schema_of=lambda api_version: ...,   # Schema of the kind at any served version; None if not served
        subresource="",                      # "status" for the status subresource; "scale" is below
        reset=reset_fields("apps/v1", "Deployment", "", has_status=True, custom=False),
                                             # the fields that writes here never own
        convert=None,                        # (obj, api_version) -> obj at that version; None: only apiVersion changes
        default=None,                        # (obj) -> None: sets defaults in place, after an apply has merged
    )
    manager.update(live, new, name, now) -> dict     # create (live=None), PUT and the three patches: `new` with the
                                                     # managedFields that it has now
    manager.apply(live, config, name, now, force=False) -> dict
                                                     # server-side apply; live=None creates. Conflicts: Refused, 409

`now` is a string such as 2026-11-15T10:00:00Z. `name` is the query's fieldManager, else the user agent up to the first
slash (`manager_name`); an apply must have one. The order of steps is that of the real server,
since it determines the owners:

    create:  decode → default → `update(None, new)` → admission → name, uid, generation and so on → store
    update:  decode → default → `update(live, new)` → admission → strategy (status kept, ...) → `keep_times` → store
    apply:   `apply(live, config)` (defaults itself) → prune → admission → strategy → `keep_times` → store

On update, `new` has the managedFields of the request: `[]` and `[{}]` reset them, other valid ones replace them, absent
ones keep those of `live`. Subresources always start from those of `live`.

No-ops:

    keep_times(old, new) -> dict      # `new`, with the times of `old` where nothing but times in managedFields changed
    same(old, new) -> bool            # whether both are equal: nothing is written then, no new revision

Scale (the managed fields of a scale are those of its parent that own the replicas):

    scale_managed_fields(entries, mappings) -> list          # parent's entries → entries of the Scale object
    parent_managed_fields(entries, scale_entries, mappings, api_version) -> list     # and back, after the write

`mappings` contains the path of the replicas for each served version: {"apps/v1": ("spec", "replicas")}.

Sets of fields: `FieldSet` parses, prints and combines the FieldsV1 of managedFields.
"""

from __future__ import annotations

from kubewright.cluster.merge._errors import Refused
from kubewright.cluster.merge._field_set import FieldSet, path
from kubewright.cluster.merge._go import plain as go_format
from kubewright.cluster.merge._json_patch import MOST_COPIED, MOST_OPERATIONS, json_patch
from kubewright.cluster.merge._manager import FieldManager, manager_name
from kubewright.cluster.merge._merge_patch import merge_patch
from kubewright.cluster.merge._noop import keep_times, same
from kubewright.cluster.merge._reset import RESET_ALL_BUT_STATUS, RESET_STATUS, reset_fields
from kubewright.cluster.merge._scale import parent_managed_fields, scale_managed_fields
from kubewright.cluster.merge._strategic import strategic_merge_patch
from kubewright.cluster.merge._strict_patches import strict_patch_errors
from kubewright.cluster.merge._structured import structured_merge

__all__ = [
    "MOST_COPIED",
    "MOST_OPERATIONS",
    "RESET_ALL_BUT_STATUS",
    "RESET_STATUS",
    "FieldManager",
    "FieldSet",
    "Refused",
    "go_format",
    "json_patch",
    "keep_times",
    "manager_name",
    "merge_patch",
    "parent_managed_fields",
    "path",
    "reset_fields",
    "same",
    "scale_managed_fields",
    "strategic_merge_patch",
    "strict_patch_errors",
    "structured_merge",
]
