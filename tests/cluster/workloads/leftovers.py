"""The remaining objects of a case in a namespace, as a string that is equal on both clusters."""

from __future__ import annotations

import json
import re
from typing import Any

from kubewright.api import Object, apps, batch, core, discovery, policy, to_dict
from kubewright.client import Client

__all__ = ["left"]

KINDS: tuple[type[Object], ...] = (
    apps.Deployment,
    apps.ReplicaSet,
    core.ReplicationController,
    apps.StatefulSet,
    apps.DaemonSet,
    apps.ControllerRevision,
    batch.Job,
    core.Pod,
    core.PersistentVolumeClaim,
    core.Endpoints,
    discovery.EndpointSlice,
    policy.PodDisruptionBudget,
)
NOISE = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"10\.(?:12[89]|1[3-9]\d|2\d\d)\.\d+\.\d+"), "ADDRESS"),  # pods of fake nodes: 10.128.0.0/9
    (re.compile(r'-[bcdfghjklmnpqrstvwxz2456789]{5}("| failed)'), r"-RANDOM\1"),
]


async def left(client: Client, namespace: str) -> str:
    """Returns every remaining object, normalized, as a string."""
    found: list[dict[str, Any]] = []
    for kind in KINDS:
        found += [to_dict(each) for each in await client.list(kind, namespace)]
    made = sorted(json.dumps(plain(each), indent=1, sort_keys=True) for each in found)
    if any(each["kind"] == "PersistentVolumeClaim" for each in found):
        volume = to_dict(await client.get(core.PersistentVolume, "by-hand"))
        volume["spec"]["claimRef"].pop("resourceVersion")
        made.append(json.dumps(plain(volume), indent=1, sort_keys=True))
    text = "\n".join(made).replace(namespace, "NAMESPACE")
    for hash_, name in hashes(found).items():
        text = text.replace(hash_, name)
    for pattern, word in NOISE:
        text = pattern.sub(word, text)
    return "\n".join(sorted(text.split("\n{"), key=lambda part: part.strip("{")))


def hashes(objects: list[dict[str, Any]]) -> dict[str, str]:
    """Returns stable names for the template hashes, by revision."""
    made = {}
    for obj in objects:
        metadata = obj["metadata"]
        if obj["kind"] == "ReplicaSet":
            number = metadata.get("annotations", {}).get("deployment.kubernetes.io/revision")
            if number is not None:
                made[metadata["labels"]["pod-template-hash"]] = f"HASH{number}"
        if obj["kind"] == "ControllerRevision":
            made[metadata["name"].removeprefix("web-")] = f"HASH{obj['revision']}"
    return made


def plain(obj: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of an object that controllers decide."""
    metadata = obj["metadata"]
    status = dict(obj.get("status") or {})
    if "observedGeneration" in status:
        status["observedGeneration"] = status["observedGeneration"] == metadata.get("generation")
    kept = ("name", "generateName", "labels", "annotations", "ownerReferences", "finalizers")
    if conditions := status.get("conditions"):
        # With Recreate, a conflict may prevent the real controller from reporting the new ReplicaSet.
        recreated = (obj["spec"].get("strategy") or {}).get("type") == "Recreate"
        kept_ones = [each for each in conditions if not (recreated and each["type"] == "Progressing")]
        status["conditions"] = sorted(kept_ones, key=lambda each: str(each["type"]))
    for unordered in ("endpoints", "ports"):  # of an EndpointSlice
        if unordered in obj:
            obj[unordered] = sorted(obj[unordered] or (), key=lambda each: json.dumps(each.get("targetRef") or each))
    for subset in obj.get("subsets") or ():  # of Endpoints, ordered by address
        for addresses in (subset.get("addresses") or [], subset.get("notReadyAddresses") or []):
            addresses.sort(key=lambda each: str(each["targetRef"]["name"]))
    entries = [{**each, "time": ""} for each in metadata.get("managedFields") or ()]
    managed = sorted(json.dumps(each, sort_keys=True) for each in entries)
    # On the real server this field has no manager: the server sets it when the phase of a volume changes.
    managed = [each.replace('"f:lastPhaseTransitionTime": {}, ', "") for each in managed]
    shown = {name: metadata[name] for name in kept if name in metadata} | {"managedFields": managed}
    return {**obj, "metadata": shown, "status": status}
