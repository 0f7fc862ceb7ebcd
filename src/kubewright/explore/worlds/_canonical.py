"""The comparable form of objects."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.explore.model import Write
from kubewright.explore.model._outcomes import Key, World

__all__ = ["DATA", "EXTERNAL", "UID", "Canonical", "canonical", "creators", "decoded", "scrubbed", "unlike"]

EXTERNAL: Final = "external/"
"""The prefix of the resource of a simulated external system in a world; its name follows."""
DATA: Final = frozenset({"persistentvolumeclaims", "persistentvolumes", "statefulsets.apps"})
"""Resources with data, which is lost with them even if they are created again."""
Canonical: TypeAlias = dict[Key, Any]
"""Comparable objects by key; generated names are replaced in keys and values."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?")
_DATE: Final = re.compile(r"(19|20)\d\d-\d\d-\d\d")
UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_EPOCH: Final = (1_600_000_000, 2_400_000_000)
_DROPPED_METADATA: Final = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"}
)
_DROPPED_ANNOTATIONS: Final = frozenset(
    {
        "deployment.kubernetes.io/revision",
        "other-client.example.com/field",  # of the other writer in a run; an oracle of its own checks it
        "kubectl.kubernetes.io/last-applied-configuration",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "volume.kubernetes.io/selected-node",
    }
)
_DROPPED_STATUS: Final = frozenset({"observedGeneration", "collisionCount", "currentRevision", "updateRevision"})
_WRITTEN: Final = ("managedFields", "resourceVersion")
_ABSENT: Final = object()
_ALLOCATED: Final = {
    "services": frozenset({"clusterIP", "clusterIPs", "healthCheckNodePort"}),
    "persistentvolumeclaims": frozenset({"volumeName"}),
    "pods": frozenset({"nodeName"}),
}
_BUILT_IN: Final = frozenset({"apps", "batch", "autoscaling", "policy"})


def scrubbed(value: Any) -> Any:
    """Returns an object without everything that changes with time or with each write."""
    if isinstance(value, dict):
        return {
            name: scrubbed(inner)
            for name, inner in value.items()
            if not (name == "metadata" and not inner) and name not in _WRITTEN
        }
    if isinstance(value, list):
        return [scrubbed(inner) for inner in value]
    if isinstance(value, str):
        return _TIME.sub("<time>", value)
    if isinstance(value, float | int) and not isinstance(value, bool) and _EPOCH[0] <= value <= _EPOCH[1]:
        return "<time>"
    return value


def unlike(one: Any, other: Any) -> bool:
    """Returns whether two objects differ in more than what `scrubbed` removes."""
    if one == other:
        return False
    if not isinstance(one, dict) or not isinstance(other, dict):
        return bool(scrubbed(one) != scrubbed(other))
    for name in {**one, **other}:
        inner, outer = one.get(name, _ABSENT), other.get(name, _ABSENT)
        if name in _WRITTEN or (name == "metadata" and inner in ({}, _ABSENT) and outer in ({}, _ABSENT)):
            continue
        if inner is _ABSENT or outer is _ABSENT or unlike(inner, outer):
            return True
    return False


def creators(writes: Iterable[Write]) -> dict[Key, str]:
    """Returns the actor that last created each object."""
    return {write.key: write.actor for write in writes if write.before is None}


def canonical(world: World, writes: Sequence[Write], *, names: Mapping[str, str] | None = None) -> Canonical:
    """Returns the comparable objects of a world: those that the operator or a user has created or changed.

    Objects of the cluster's own controllers, such as pods, are left out, also if the operator deletes them to have them
    made again: the status of their owners shows them. Claims are kept, because operators manage them.

    Args:
        world: the objects.
        writes: the writes of the run.
        names: prefixes of names that the operator generates itself, by resource.
    """
    changed = {write.key for write in writes if write.actor and not write.verb.startswith("delete")}
    tokens = _tokens(world, writes, names or {})
    kept = ("persistentvolumeclaims", EXTERNAL)
    chosen = {key: obj for key, obj in world.items() if key in changed or key[0].startswith(kept)}
    found: dict[Key, Any] = {}
    renamed: dict[Key, list[Any]] = {}
    for key, obj in chosen.items():
        resource, namespace, name = key
        if resource.startswith(EXTERNAL):
            found[key] = _unordered(_replaced(obj, tokens))
            continue
        plain = _plain(resource, obj, tokens)
        if name in tokens:
            renamed.setdefault((resource, namespace, tokens[name]), []).append(plain)
        else:
            found[key] = plain
    for (resource, namespace, prefix), group in renamed.items():
        group.sort(key=lambda each: msgspec.json.encode(each, order="deterministic"))
        for number, plain in enumerate(group, 1):
            found[resource, namespace, f"{prefix}#{number}"] = plain
    return found


def _tokens(world: World, writes: Sequence[Write], names: Mapping[str, str]) -> dict[str, str]:
    """Returns the replacements of generated names."""
    tokens: dict[str, str] = {}
    seen = [(write.key, write.after or write.before) for write in writes]
    for key, raw in seen:
        prefix = names.get(key[0])
        if prefix is not None and key[2].startswith(prefix) and key[2] != prefix:
            tokens[key[2]] = f"{prefix}*"
        if raw is None or b"generateName" not in raw:
            continue
        generated = msgspec.json.decode(raw).get("metadata", {}).get("generateName")
        if generated and key[2].startswith(generated):
            tokens[key[2]] = f"{generated}*"
    return tokens


def _plain(resource: str, obj: dict[str, Any], tokens: Mapping[str, str]) -> dict[str, Any]:
    metadata = obj.get("metadata", {})
    kept = {name: value for name, value in metadata.items() if name not in _DROPPED_METADATA}
    kept["deleting"] = "deletionTimestamp" in metadata
    annotations = {k: v for k, v in kept.get("annotations", {}).items() if k not in _DROPPED_ANNOTATIONS}
    kept.pop("annotations", None)
    if annotations:
        kept["annotations"] = annotations
    if "ownerReferences" in kept:
        owners = [{name: value for name, value in owner.items() if name != "uid"} for owner in kept["ownerReferences"]]
        kept["ownerReferences"] = sorted(owners, key=lambda owner: (owner.get("kind", ""), owner.get("name", "")))
    if "finalizers" in kept:
        kept["finalizers"] = sorted(kept["finalizers"])
    plain = {**obj, "metadata": kept}
    if resource in _ALLOCATED and isinstance(obj.get("spec"), dict):
        plain["spec"] = _without_allocated(obj["spec"], _ALLOCATED[resource])
    status = obj.get("status")
    if isinstance(status, dict):
        plain["status"] = _filled(_status(resource, status, metadata.get("generation")))
        if not plain["status"]:
            del plain["status"]
    return _replaced(plain, tokens)  # type: ignore[no-any-return]


def _unordered(value: Any) -> Any:
    """Returns the state of an external system without generated identifiers: its items in the order of their content.

    Identifiers and orders in external systems depend on when an item was made.
    """
    if isinstance(value, dict):
        if any(UID.fullmatch(str(name)) for name in value):
            return _unordered(list(value.values()))
        return {name: _unordered(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return sorted((_unordered(each) for each in value), key=lambda each: msgspec.json.encode(each))
    return value


def _without_allocated(spec: dict[str, Any], allocated: frozenset[str]) -> dict[str, Any]:
    """Returns a spec without addresses, ports and volumes that the cluster allocates in the order of requests."""
    kept = {name: value for name, value in spec.items() if name not in allocated}
    if isinstance(kept.get("ports"), list):
        kept["ports"] = [{name: port[name] for name in port if name != "nodePort"} for port in kept["ports"]]
    return kept


def _status(resource: str, status: dict[str, Any], generation: int | None) -> dict[str, Any]:
    kept = {name: value for name, value in status.items() if name not in _DROPPED_STATUS}
    conditions = kept.get("conditions")
    if isinstance(conditions, list) and all(isinstance(each, dict) for each in conditions):
        group = resource.partition(".")[2]
        # Conditions of built-in kinds describe the way to a state, such as the last rollout.
        dropped = {"observedGeneration"}
        if group in _BUILT_IN or not group:
            dropped |= {"reason", "message"}
        kept["conditions"] = sorted(
            ({name: value for name, value in each.items() if name not in dropped} for each in conditions),
            key=lambda each: str(each.get("type", "")),
        )
    return kept


def _filled(value: Any) -> Any:
    """Returns a status without empty values, which mean the same as missing ones."""
    if isinstance(value, dict):
        filled = {name: _filled(inner) for name, inner in value.items()}
        return {name: inner for name, inner in filled.items() if inner}
    if isinstance(value, list):
        return [_filled(inner) for inner in value]
    return value


def _replaced(value: Any, tokens: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {tokens.get(name, name): _replaced(inner, tokens) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, tokens) for inner in value]
    if isinstance(value, str):
        return _replaced_string(value, tokens)
    if isinstance(value, float | int) and not isinstance(value, bool) and _EPOCH[0] <= value <= _EPOCH[1]:
        return "<time>"
    return value


def _replaced_string(value: str, tokens: Mapping[str, str]) -> str:
    if value in tokens:
        return tokens[value]
    for name, token in tokens.items():
        if len(name) > 5 and name in value:
            value = value.replace(name, token)
    if len(value) >= 10:
        value = UID.sub("<uid>", _DATE.sub("<date>", _TIME.sub("<time>", value)))
        if re.fullmatch(r"\d{10}(\.\d+)?|\d{13}", value) and _EPOCH[0] <= float(value[:10]) <= _EPOCH[1]:
            return "<time>"
        content = decoded(value)
        if content is not None and (_TIME.search(content) or UID.search(content)):
            return f"base64:{_replaced_string(content, tokens)}"
    return value


def decoded(value: str, shortest: int = 16) -> str | None:
    """Returns the content of a base64 string with text, as in a Secret. Shorter strings may be words."""
    if len(value) < shortest or len(value) % 4:
        return None
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
