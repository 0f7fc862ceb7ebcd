"""URL paths of kinds and objects."""

from __future__ import annotations

from urllib.parse import quote

from kubewright.api import Model, Object, ResourceInfo, info_of

__all__ = ["info_of_object", "object_name", "object_path", "qualified_resource", "resource_path", "type_name"]

_SAFE = ":@!$&'()*+,;=~"


def resource_path(info: ResourceInfo, namespace: str | None) -> str:
    """Returns the path of all objects of a kind, in one namespace or in all."""
    if info.namespaced and namespace:
        return f"{info.path}/namespaces/{segment(namespace, 'namespace', info)}/{info.plural}"
    return f"{info.path}/{info.plural}"


def object_path(info: ResourceInfo, namespace: str | None, name: str, subresource: str | None = None) -> str:
    """Returns the path of one object, or of its subresource."""
    if info.namespaced and not namespace:
        raise ValueError(f"{info.kind} {name!r} is namespaced, and no namespace was given")
    path = f"{resource_path(info, namespace)}/{segment(name, 'name', info)}"
    return f"{path}/{subresource}" if subresource else path


def qualified_resource(info: ResourceInfo, subresource: str | None = None) -> str:
    """Returns the resource as in RBAC messages: `deployments.apps/status`."""
    name = f"{info.plural}.{info.group}" if info.group else info.plural
    return f"{name}/{subresource}" if subresource else name


def segment(value: str, what: str, info: ResourceInfo) -> str:
    """Returns one quoted segment of a path. A name must not change the path, whatever it contains."""
    if not isinstance(value, str):
        raise TypeError(f"the {what} of a {info.kind} must be a string, not {type_name(value)}")
    if not value:
        raise ValueError(f"a {info.kind} needs a {what}, got {value!r}")
    if value in (".", "..") or "/" in value or "%" in value:
        raise ValueError(f"{value!r} is not a {what} of a {info.kind}: it must not be . or .. or contain / or %")
    return quote(value, safe=_SAFE)


def type_name(value: object) -> str:
    """Returns the type of a value for errors. Not the value itself: objects may contain secrets, and are long."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def info_of_object(obj: Object) -> ResourceInfo:
    """Returns the resource of an object. Raises TypeError for a value that is not an object, such as its class."""
    if not isinstance(obj, Model):
        raise TypeError(f"expected an object, such as core.ConfigMap(...), not {type_name(obj)}")
    return info_of(obj)


def object_name(obj: Object) -> str:
    """Returns the object's name. Raises ValueError if it has none."""
    info = info_of_object(obj)
    if obj.metadata.name:
        return obj.metadata.name
    raise ValueError(f"this {info.kind} has no metadata.name")
