"""The checks of the Pod Security Standards, with the messages of the real server.

A check takes the metadata and the spec of a pod, and returns a violation or None.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from kubewright.cluster.machinery._resources import JSONObject

__all__ = [
    "Check",
    "Violation",
    "app_armor",
    "baseline_capabilities",
    "baseline_seccomp",
    "host_namespaces",
    "host_paths",
    "host_ports",
    "host_probes",
    "host_process",
    "no_escalation",
    "privileged",
    "proc_mount",
    "restricted_capabilities",
    "restricted_seccomp",
    "restricted_volumes",
    "run_as_non_root",
    "run_as_user",
    "se_linux",
    "seccomp_annotations",
    "sysctls",
    "unless_user_namespace",
    "unless_windows",
]


class Violation(NamedTuple):
    """The violation of a check: the reason, which is the same for all pods, and the fields of this pod."""

    reason: str
    detail: str


Check: TypeAlias = Callable[[JSONObject, JSONObject], Violation | None]

_DEFAULT_CAPABILITIES: Final = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
_PROFILES: Final = ("RuntimeDefault", "Localhost")
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_ALLOWED_VOLUMES: Final = frozenset(
    {
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image"),
        *("persistentVolumeClaim", "projected", "secret"),
    }
)
_RESTRICTED_VOLUMES: Final = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd"),
    *("flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk"),
    *("photonPersistentDisk", "portworxVolume", "scaleIO", "storageos"),
)


def unless_windows(check: Check) -> Check:
    """Returns the check with an exception for Windows pods, where validation rejects the fields."""

    def checked(metadata: JSONObject, spec: JSONObject) -> Violation | None:
        return None if (spec.get("os") or {}).get("name") == "windows" else check(metadata, spec)

    return checked


def unless_user_namespace(check: Check) -> Check:
    """Returns the check with an exception for pods with their own user namespace."""

    def checked(metadata: JSONObject, spec: JSONObject) -> Violation | None:
        return None if spec.get("hostUsers") is False else check(metadata, spec)

    return checked


def app_armor(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """AppArmor profiles are not disabled."""
    setters, values = _bad_profiles(spec, "appArmorProfile")
    listed = sorted(values)
    annotations = sorted(
        f'{key}="{value}"'
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(_APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    if annotations:
        listed += annotations
        setters.append(_plural("annotation", annotations))
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(listed)}"
    return Violation(_plural("forbidden AppArmor profile", listed), detail)


def baseline_capabilities(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """No container adds more than the default capabilities."""
    adding = _adding(spec, _DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", adding) if adding else None


def restricted_capabilities(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """Every container drops all capabilities, and adds at most NET_BIND_SERVICE."""
    keeping = [
        name
        for name, context in _contexts(spec)
        if "ALL" not in ((context.get("capabilities") or {}).get("drop") or ())
    ]
    details = [f'{_containers(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding := _adding(spec, {"NET_BIND_SERVICE"}):
        details.append(adding)
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def host_namespaces(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """The pod does not share the namespaces of its node."""
    shared = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_paths(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """No volume is a path of the node."""
    names = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", f"{_plural('volume', names)} {_quoted(names)}") if names else None


def host_ports(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """No container uses a port of the node."""
    used = [
        (container["name"], {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")})
        for container in _all(spec)
    ]
    names, ports = [name for name, found in used if found], set().union(*(found for _, found in used))
    if not names:
        return None
    shown = f"{_plural('hostPort', ports)} {', '.join(sorted(ports))}"
    return Violation("hostPort", f"{_containers(names)} {_use(names)} {shown}")


def host_probes(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """Probes and lifecycle hooks name no host."""
    names, hosts = set(), set()
    for container in _all(spec):
        lifecycle = container.get("lifecycle") or {}
        calls = [container.get(f"{kind}Probe") for kind in ("liveness", "readiness", "startup")]
        calls += [lifecycle.get("postStart"), lifecycle.get("preStop")]
        for call in calls:
            for action in ("httpGet", "tcpSocket"):
                if host := ((call or {}).get(action) or {}).get("host"):
                    names.add(container["name"])
                    hosts.add(host)
    if not names:
        return None
    shown = f"{_plural('probe or lifecycle host', hosts)} {_quoted(sorted(hosts))}"
    return Violation("probe or lifecycle host", f"{_containers(sorted(names))} {_use(names)} {shown}")


def privileged(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """No container is privileged."""
    names = [name for name, context in _contexts(spec) if context.get("privileged")]
    return (
        Violation("privileged", f"{_containers(names)} must not set securityContext.privileged=true") if names else None
    )


def proc_mount(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """Every container has the default mount of /proc."""
    found = {
        name: kind for name, context in _contexts(spec) if (kind := context.get("procMount")) not in (None, "Default")
    }
    if not found:
        return None
    types = _quoted(sorted(set(found.values())))
    return Violation("procMount", f"{_containers(found)} must not set securityContext.procMount to {types}")


def se_linux(*types: str) -> Check:
    """SELinux options have one of these types, and neither user nor role."""

    def check(metadata: JSONObject, spec: JSONObject) -> Violation | None:
        given = [(name, context.get("seLinuxOptions") or {}) for name, context in _contexts(spec)]
        pod = (spec.get("securityContext") or {}).get("seLinuxOptions") or {}
        every = [pod, *(options for _, options in given)]
        bad = {kind for options in every if (kind := options.get("type") or "") and kind not in types}
        names = [name for name, options in given if _forbidden_options(options, types)]
        setters = (["pod"] if _forbidden_options(pod, types) else []) + ([_containers(names)] if names else [])
        if not setters:
            return None
        data = [f"{_plural('type', bad)} {_quoted(sorted(bad))}"] if bad else []
        data += [f"{field} may not be set" for field in ("user", "role") if any(each.get(field) for each in every)]
        shown = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return Violation("seLinuxOptions", shown)

    return check


def _forbidden_options(options: JSONObject, types: Collection[str]) -> bool:
    kind = options.get("type") or ""
    return bool((kind and kind not in types) or options.get("user") or options.get("role"))


def seccomp_annotations(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """The annotations of releases before 1.19 do not disable seccomp."""
    annotations = metadata.get("annotations") or {}
    keys = [_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{container['name']}" for container in _all(spec))]
    found = {
        f'{key}="{annotations[key]}"'
        for key in keys
        if key in annotations
        and annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    }
    if not found:
        return None
    return Violation("seccompProfile", f"forbidden {_plural('annotation', found)} {', '.join(sorted(found))}")


def baseline_seccomp(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """Seccomp is not disabled."""
    setters, values = _bad_profiles(spec, "seccompProfile")
    if not setters:
        return None
    text = f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to {_quoted(sorted(values))}"
    return Violation("seccompProfile", text)


def restricted_seccomp(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """The pod, or every container, sets a seccomp profile."""
    if found := baseline_seccomp(metadata, spec):
        return found
    pod = (spec.get("securityContext") or {}).get("seccompProfile")
    names = [name for name, context in _contexts(spec) if pod is None and context.get("seccompProfile") is None]
    if not names:
        return None
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_containers(names)} {must}")


def sysctls(*allowed: str) -> Check:
    """The pod sets only these sysctls."""

    def check(metadata: JSONObject, spec: JSONObject) -> Violation | None:
        given = (spec.get("securityContext") or {}).get("sysctls") or ()
        found = [sysctl["name"] for sysctl in given if sysctl["name"] not in allowed]
        return Violation("forbidden sysctls", ", ".join(found)) if found else None

    return check


def host_process(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """No Windows container is a process of its host."""
    setters = _setters(spec, lambda context: bool((context.get("windowsOptions") or {}).get("hostProcess")))
    must = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{setters} {must}") if setters else None


def no_escalation(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """No container may gain privileges."""
    names = [name for name, context in _contexts(spec) if context.get("allowPrivilegeEscalation") is not False]
    must = "must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", f"{_containers(names)} {must}") if names else None


def restricted_volumes(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """Volumes have only types that do not reach the node."""
    found = {}
    for volume in spec.get("volumes") or ():
        if not any(volume.get(kind) is not None for kind in _ALLOWED_VOLUMES):
            found[volume["name"]] = next(
                (kind for kind in _RESTRICTED_VOLUMES if volume.get(kind) is not None), "unknown"
            )
    if not found:
        return None
    types = set(found.values())
    shown = f"{_plural('restricted volume type', types)} {_quoted(sorted(types))}"
    return Violation("restricted volume types", f"{_plural('volume', found)} {_quoted(found)} {_use(found)} {shown}")


def run_as_non_root(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """The pod, or every container, does not run as root."""
    if setters := _setters(spec, lambda context: context.get("runAsNonRoot") is False):
        return Violation("runAsNonRoot != true", f"{setters} must not set securityContext.runAsNonRoot=false")
    pod = (spec.get("securityContext") or {}).get("runAsNonRoot")
    names = [name for name, context in _contexts(spec) if not pod and context.get("runAsNonRoot") is None]
    must = "must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", f"pod or {_containers(names)} {must}") if names else None


def run_as_user(metadata: JSONObject, spec: JSONObject) -> Violation | None:
    """Neither the pod nor a container has the user 0."""
    setters = _setters(spec, lambda context: context.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def _adding(spec: JSONObject, allowed: Collection[str]) -> str:
    added = [
        (name, {each for each in (context.get("capabilities") or {}).get("add") or () if each not in allowed})
        for name, context in _contexts(spec)
    ]
    names, found = [name for name, bad in added if bad], set().union(*(bad for _, bad in added))
    if not names:
        return ""
    return f"{_containers(names)} must not include {_quoted(sorted(found))} in securityContext.capabilities.add"


def _bad_profiles(spec: JSONObject, field: str) -> tuple[list[str], set[str]]:
    """Returns the pod and containers that set a forbidden profile type, for a message; and these types."""

    def bad(context: JSONObject) -> bool:
        profile = context.get(field)
        return profile is not None and profile.get("type") not in _PROFILES

    contexts = [spec.get("securityContext") or {}, *(context for _, context in _contexts(spec))]
    values = {str(context[field].get("type") or "") for context in contexts if bad(context)}
    setters = _setters(spec, bad)
    return [setters] if setters else [], values


def _setters(spec: JSONObject, bad: Callable[[JSONObject], bool]) -> str:
    """Returns the pod and containers that set a forbidden value, for a message: the pod, containers, or both."""
    names = [name for name, context in _contexts(spec) if bad(context)]
    setters = ["pod"] if bad(spec.get("securityContext") or {}) else []
    return " and ".join([*setters, _containers(names)] if names else setters)


def _all(spec: JSONObject) -> Iterator[JSONObject]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _contexts(spec: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    """Yields the name and the security context of each container."""
    return ((container["name"], container.get("securityContext") or {}) for container in _all(spec))


def _containers(names: Collection[str]) -> str:
    return f"{_plural('container', names)} {_quoted(names)}"


def _use(users: Collection[Any]) -> str:
    return "uses" if len(users) == 1 else "use"


def _plural(word: str, found: Collection[Any]) -> str:
    return word if len(found) == 1 else f"{word}s"


def _quoted(values: Iterable[str]) -> str:
    return ", ".join(f'"{value}"' for value in values)
