"""Tables of requests with their outcome on a real kube-apiserver, and their replay through our functions.

A case is a list of steps on one object. `server.json.gz` contains the real server's response to each step: the
normalized object or the error. `replay` starts every step from the server's previous object and compares our result
with the server's next object. `test_on_control_plane.py` verifies the file against a server, and records it again if
`KUBEWRIGHT_RECORD` is set (to the seed of the random cases).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kubewright.cluster.merge import (
    FieldManager,
    Refused,
    json_patch,
    merge_patch,
    parent_managed_fields,
    reset_fields,
    scale_managed_fields,
    strategic_merge_patch,
)
from kubewright.cluster.schema import Schema, builtin_schema, custom_schema
from tests.cluster.merge.definitions import VERSIONS

FILE = Path(__file__).with_name("server.json.gz")
RANDOM_FILE = Path(__file__).with_name("random.json.gz")
NOW = "2026-11-15T10:00:00Z"
Object = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One request. `change` is the difference between a PUT and the previous object, as a merge patch."""

    verb: str
    body: Any = None
    manager: str = "one"
    force: bool = False
    subresource: str = ""
    api_version: str = ""


@dataclass(frozen=True)
class Case:
    """Requests on one object. `filled`: fields that the server sets after it has recorded the owners."""

    name: str
    api_version: str
    kind: str
    steps: list[Step]
    filled: tuple[str, ...] = ()

    @property
    def custom(self) -> bool:
        return self.api_version.startswith("merge.example.com/")


@dataclass
class Outcome:
    """The outcome of a step: the object, or the error."""

    object: Object | None = None
    refusal: Object | None = None


def create(body: Object, manager: str = "one") -> Step:
    return Step("create", body, manager)


def put(change: Object, manager: str = "one", subresource: str = "", api_version: str = "") -> Step:
    return Step("put", change, manager, subresource=subresource, api_version=api_version)


def apply(
    body: Object, manager: str = "one", *, force: bool = False, subresource: str = "", api_version: str = ""
) -> Step:
    return Step("apply", body, manager, force, subresource, api_version)


def merge(patch: Any, manager: str = "one", subresource: str = "", api_version: str = "") -> Step:
    return Step("merge", patch, manager, subresource=subresource, api_version=api_version)


def strategic(patch: Object, manager: str = "one", subresource: str = "") -> Step:
    return Step("strategic", patch, manager, subresource=subresource)


def json_ops(*operations: Object, manager: str = "one") -> Step:
    return Step("json", list(operations), manager)


# Responses of the server


@cache
def recorded() -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = json.loads(gzip.decompress(FILE.read_bytes()))
    return found


def record(outcomes: dict[str, list[Object]]) -> None:
    """Records the file again; the same content gives the same bytes."""
    _write(FILE, outcomes)


def recorded_random() -> list[tuple[Case, list[Object]]]:
    """Returns the random cases with the server's responses."""
    kept = json.loads(gzip.decompress(RANDOM_FILE.read_bytes()))
    return [
        (Case(**case["case"] | {"steps": [Step(**step) for step in case["case"]["steps"]]}), case["answers"])
        for case in kept
    ]


def record_random(outcomes: list[tuple[Case, list[Object]]]) -> None:
    """Records the random cases and responses again."""
    _write(RANDOM_FILE, [{"case": asdict(case), "answers": answers} for case, answers in outcomes])


def _write(file: Path, content: Any) -> None:
    text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    file.write_bytes(gzip.compress(text, 9, mtime=0))


def made_same(obj: Object, namespace: str) -> Object:
    """Returns the object without values that differ from run to run."""
    same: Object = json.loads(json.dumps(obj).replace(namespace, "ns"))
    metadata = same.get("metadata", {})
    for name, value in (("uid", "uid"), ("resourceVersion", "1"), ("creationTimestamp", NOW)):
        if name in metadata:
            metadata[name] = value
    if "clusterIP" in same.get("spec", {}):
        same["spec"] |= {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}
    entries = metadata.get("managedFields", [])
    for entry in entries:
        if "time" in entry:
            entry["time"] = NOW
    # Of two entries of one manager the later counts; those without a time come first.
    entries.sort(key=lambda entry: ("time" in entry, json.dumps(entry, sort_keys=True)))
    return same


# Our results


def replay(case: Case, answers: list[Object]) -> Iterator[tuple[int, Outcome, Outcome]]:
    """Yields our outcome and the server's for each step."""
    live: Object | None = None
    for number, (step, answer) in enumerate(zip(case.steps, answers, strict=True)):
        theirs = Outcome(answer.get("object"), answer.get("refusal"))
        ours = performed(case, step, live, theirs)
        yield number, ours, theirs
        live = theirs.object if theirs.object is not None else live


def performed(case: Case, step: Step, live: Object | None, theirs: Outcome, names: Object | None = None) -> Outcome:
    """Returns our outcome of a step, with defaults as the server set them."""
    version = step.api_version or case.api_version
    live = at_version(live, version)
    try:
        if step.subresource == "scale":
            return Outcome(_scaled(case, step, live, theirs))
        manager = field_manager(case, step.subresource, version)
        if step.verb == "apply":
            return Outcome(manager.apply(live, identified(case, step, names), step.manager, NOW, force=step.force))
        patched = live
        if step.verb in ("merge", "strategic", "json"):
            assert live is not None
            patched = apply_patch(case, step, live)
        written = theirs.object
        if written is None:  # the server rejected what we accept: compare that
            return Outcome(patched)
        new = without_filled(at_version(written, version), case.filled if step.verb == "create" else ())
        new["metadata"].pop("managedFields", None)
        given = given_managed_fields(step, live, patched)
        if given is not None:
            new["metadata"]["managedFields"] = given
        made = manager.update(live, new, step.manager, NOW)
        if step.verb in ("merge", "strategic", "json"):
            assert patched is not None
            check_contained(patched, written, case.name)
        return Outcome(with_managed_fields(written, made["metadata"].get("managedFields")))
    except Refused as refused:
        return Outcome(None, refusal_of(refused.code, refused.reason, refused.message, list(refused.causes)))


def _scaled(case: Case, step: Step, live: Object | None, theirs: Outcome) -> Object:
    """Performs a write to the scale: through the managed fields of the Scale, back into the parent's."""
    assert live is not None
    mappings = dict.fromkeys((case.api_version, *VERSIONS), ("spec", "replicas"))
    scale: Object = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": live["metadata"]["name"], "uid": "uid"},
        "spec": {"replicas": live["spec"]["replicas"]} if "replicas" in live["spec"] else {},
    }
    entries = scale_managed_fields(live["metadata"].get("managedFields"), mappings)
    scale["metadata"]["managedFields"] = entries
    manager = FieldManager(
        "autoscaling/v1",
        "Scale",
        schema_of=lambda version: builtin_schema(version, "Scale"),
        subresource="scale",
    )
    if step.verb == "apply":
        config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}} | step.body
        after = manager.apply(scale, config, step.manager, NOW, force=step.force)
    else:
        after = manager.update(scale, merge_patch(scale, step.body), step.manager, NOW)
    fields = parent_managed_fields(
        live["metadata"].get("managedFields"), after["metadata"].get("managedFields"), mappings, case.api_version
    )
    return with_managed_fields(theirs.object or live, fields)


def field_manager(case: Case, subresource: str, version: str) -> FieldManager:
    def schema_of(api_version: str) -> Schema | None:
        if case.custom:
            source = VERSIONS.get(api_version)
            return None if source is None else custom(api_version)
        return builtin_schema(api_version, case.kind)

    return FieldManager(
        version,
        case.kind,
        schema_of=schema_of,
        subresource=subresource,
        reset=reset_fields(
            version,
            case.kind,
            subresource,
            has_status=case.custom or case.kind not in WITHOUT_STATUS,
            custom=case.custom,
        ),
    )


WITHOUT_STATUS = frozenset(("ConfigMap", "Secret", "ServiceAccount", "Role", "ClusterRole", "Lease"))


@cache
def custom(api_version: str) -> Schema:
    return custom_schema(VERSIONS[api_version])


def apply_patch(case: Case, step: Step, live: Object) -> Object:
    if step.verb == "merge":
        patched = merge_patch(live, step.body)
    elif step.verb == "json":
        patched = json_patch(live, json.dumps(step.body).encode())
    else:
        schema = builtin_schema(case.api_version, case.kind)
        assert schema is not None
        patched = strategic_merge_patch(live, step.body, schema)
    assert isinstance(patched, dict)
    return patched


def given_managed_fields(step: Step, live: Object | None, patched: Object | None) -> Any:
    """Returns the managedFields of the written object: those of the request, or of the patched object."""
    if step.verb == "put":
        metadata = merge_patch(live, step.body)["metadata"]
        return metadata.get("managedFields")
    return None if patched is None else patched.get("metadata", {}).get("managedFields")


def identified(case: Case, step: Step, names: Object | None = None) -> Object:
    """Returns the applied config with its name and kind."""
    version = step.api_version or case.api_version
    names = names or {"name": case.name} | ({} if case.kind in CLUSTER_SCOPED else {"namespace": "ns"})
    metadata = names | step.body.get("metadata", {})
    return {"apiVersion": version, "kind": case.kind, **step.body, "metadata": metadata}


CLUSTER_SCOPED = frozenset(("Node", "ClusterRole", "Namespace", "PersistentVolume"))


def at_version(obj: Object | None, version: str) -> Any:
    if obj is None:
        return None
    return deepcopy(obj) | {"apiVersion": version}


def with_managed_fields(obj: Object, entries: Any) -> Object:
    result = deepcopy(obj)
    result["metadata"].pop("managedFields", None)
    if entries:
        result["metadata"]["managedFields"] = entries
    return result


def without_filled(obj: Object, paths: tuple[str, ...]) -> Object:
    result = deepcopy(obj)
    for path in paths:
        *above, last = path.split(".")
        holder: Any = result
        for name in above:
            holder = holder.get(name, {})
        holder.pop(last, None)
    return result


def managed_fields(obj: Object | None) -> list[Object]:
    """Returns the entries in an order that does not depend on times."""
    entries = deepcopy((obj or {}).get("metadata", {}).get("managedFields", []))
    for entry in entries:
        if "time" in entry:
            entry["time"] = NOW
    return sorted(entries, key=lambda entry: json.dumps(entry, sort_keys=True))


def refusal_of(code: int, reason: str, message: str, causes: list[Object]) -> Object:
    causes = sorted(causes, key=lambda cause: json.dumps(cause, sort_keys=True))
    return {"code": code, "reason": reason, "message": message, "causes": causes}


def is_validation(refusal: Object | None) -> bool:
    """Returns whether the server merged the request and then rejected the result in validation."""
    return refusal is not None and refusal["reason"] == "Invalid" and bool(refusal["causes"])


def check_contained(ours: Any, theirs: Any, where: str) -> None:
    """Checks that the server's object contains ours, with lists in the same order; the server may add defaults."""
    if isinstance(ours, dict):
        for name, value in ours.items():
            if name in ("managedFields", "resourceVersion", "generation") or value in (None, "", [], {}, 0, False):
                continue
            assert isinstance(theirs, dict), where
            assert name in theirs, f"{where}.{name} is not there"
            check_contained(value, theirs[name], f"{where}.{name}")
    elif isinstance(ours, list):
        assert isinstance(theirs, list), where
        assert len(theirs) == len(ours), f"{where} has {len(theirs)} elements, not {len(ours)}"
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            check_contained(one, other, f"{where}[{index}]")
    else:
        assert theirs == ours, f"{where} is {theirs!r}, not {ours!r}"
