"""Fields of the Zalando operator that this one does not support. They are named to users and never ignored silently."""

import textwrap
from collections.abc import Sequence

import msgspec

import kubewright as kw
from kubewright.api import JSON


class UnsupportedFields(kw.Model):
    """The fields of a `postgresql` that have no effect. The schema accepts them, so that manifests work unchanged."""

    additional_volumes: JSON | None = None
    connection_pooler: JSON | None = None
    docker_image_pull_policy: JSON | None = None
    enable_connection_pooler: JSON | None = None
    enable_logical_backup: JSON | None = None
    enable_master_pooler_load_balancer: JSON | None = None
    enable_replica_connection_pooler: JSON | None = None
    enable_replica_pooler_load_balancer: JSON | None = None
    ignore_masters_annotations: JSON | None = None
    init_containers_old: JSON | None = msgspec.field(name="init_containers", default=None)
    logical_backup_retention: JSON | None = None
    logical_backup_s3_bucket: JSON | None = msgspec.field(name="logicalBackupS3Bucket", default=None)
    logical_backup_schedule: JSON | None = None
    maintenance_windows: JSON | None = None
    master_service_annotations: JSON | None = None
    pod_priority_class_name_old: JSON | None = msgspec.field(name="pod_priority_class_name", default=None)
    replica_load_balancer: JSON | None = None
    replica_service_annotations: JSON | None = None
    standby: JSON | None = None
    streams: JSON | None = None
    tls: JSON | None = None
    topology_spread_constraints: JSON | None = None
    use_load_balancer: JSON | None = None
    users_ignoring_secret_rotation: JSON | None = None
    users_with_in_place_secret_rotation: JSON | None = None
    users_with_secret_rotation: JSON | None = None


class UnsupportedVolumeFields(kw.Model):
    """The fields of `spec.volume` that have no effect."""

    iops: JSON | None = None
    is_sub_path_expr: JSON | None = None
    selector: JSON | None = None
    throughput: JSON | None = None
    volume_type: JSON | None = msgspec.field(name="type", default=None)


_CHARACTERS, _MESSAGES = 900, 8  # an event has 1024 bytes, and more than 10 similar ones are combined

REFUSED = ("standby",)
"""Fields that decide which data a cluster has. A cluster that ignored them would start empty, so it is Invalid."""

_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(UnsupportedFields)}
_VOLUME_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(UnsupportedVolumeFields)}


def refused_in(spec: UnsupportedFields) -> list[str]:
    """Returns the fields of a spec without which the cluster must not be created."""
    return [f"spec.{name}" for name in REFUSED if getattr(spec, name) is not None]


def unsupported_in(spec: UnsupportedFields, volume: UnsupportedVolumeFields) -> list[str]:
    """Returns the fields of a spec and its volume that have no effect, by their JSON names."""
    given = [(f"spec.{wire}", getattr(spec, name)) for name, wire in _NAMES.items() if name not in REFUSED]
    given += [(f"spec.volume.{wire}", getattr(volume, name)) for name, wire in _VOLUME_NAMES.items()]
    return [path for path, value in given if value not in (None, False, [], {})]


def unsupported_settings(configuration: type[kw.Model], content: object, path: str = "configuration") -> list[str]:
    """Returns the settings in the JSON of a configuration that its model does not have, by their paths."""
    if not isinstance(content, dict):
        return []
    fields = {field.encode_name: field for field in msgspec.structs.fields(configuration)}
    found: list[str] = []
    for name, value in content.items():
        if name not in fields:
            found.append(f"{path}.{name}")
        elif isinstance(kind := fields[name].type, type) and issubclass(kind, kw.Model):
            found += unsupported_settings(kind, value, f"{path}.{name}")
    return found


def without_effect(what: str, names: Sequence[str]) -> list[str]:
    """Returns messages for events that name these fields or settings. Each name is in one of them, up to a bound."""
    lines = [line.rstrip(",") for line in textwrap.wrap(", ".join(names), _CHARACTERS, break_on_hyphens=False)]
    messages = [f"these {what} have no effect: {line}" for line in lines[:_MESSAGES]]
    if left := sum(line.count(",") + 1 for line in lines[_MESSAGES:]):
        messages[-1] += f", and {left} more"
    return messages
