"""The fields of a pod that have no effect without containers. The node reports them in one event per pod."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kubewright.api import core
from kubewright.cluster.processes._images import Images
from kubewright.cluster.processes._memory import measures_memory
from kubewright.cluster.processes._mounts import MountMode
from kubewright.cluster.processes._state import AnyContainer

__all__ = ["not_honored"]


def not_honored(pod: core.Pod, images: Images, mode: MountMode) -> list[str]:
    """Returns the fields of the pod that have no effect on this node, in the order of the docs."""
    spec = pod.spec
    found = [*_of_pod(spec, mode)]
    for container in (*(spec.init_containers or ()), *spec.containers):
        if images.find(container.image) is not None:
            found += [field for field in _of_container(spec, container, images) if field not in found]
    return found


def _of_pod(spec: core.PodSpec, mode: MountMode) -> Iterator[str]:
    context = spec.security_context or core.PodSecurityContext()
    fields = {
        "hostname (HOSTNAME has it)": spec.hostname and mode != "namespace",
        "setHostnameAsFQDN": spec.set_hostname_as_fqdn,
        "hostAliases": spec.host_aliases,
        "dnsConfig": spec.dns_config,
        "shareProcessNamespace": spec.share_process_namespace,
        "hostUsers": spec.host_users is False,
        "runtimeClassName": spec.runtime_class_name,
        "resources.limits (of the pod)": spec.resources is not None and spec.resources.limits,
        "securityContext.sysctls": context.sysctls,
        "securityContext.seccompProfile": context.seccomp_profile,
        "securityContext.appArmorProfile": context.app_armor_profile,
        "securityContext.seLinuxOptions": context.se_linux_options,
        "securityContext.fsGroup": context.fs_group is not None and os.geteuid() != 0,
        "securityContext.supplementalGroups": context.supplemental_groups and os.geteuid() != 0,
    }
    yield from (name for name, value in fields.items() if value)
    if mode == "none":
        yield "mountPath (volumes are below $KUBEWRIGHT_POD_ROOT)"
    for volume in spec.volumes or ():
        if volume.empty_dir is not None and (volume.empty_dir.size_limit or volume.empty_dir.medium):
            yield "emptyDir.sizeLimit and medium"
            return


def _of_container(spec: core.PodSpec, container: AnyContainer, images: Images) -> Iterator[str]:
    of_pod = spec.security_context or core.PodSecurityContext()
    own = container.security_context or core.SecurityContext()
    limits = (container.resources.limits if container.resources is not None else None) or {}
    mounts = container.volume_mounts or ()
    yield from (f"resources.limits.{name}" for name in sorted(limits) if name != "memory" or not measures_memory())
    image = images.find(container.image)
    wanted = [each for each in (own.run_as_user, of_pod.run_as_user, image.user if image else None) if each is not None]
    if wanted and os.geteuid() not in (0, wanted[0]):
        yield "securityContext.runAsUser (the node does not run as root)"
    if (own.run_as_group is not None or of_pod.run_as_group is not None) and os.geteuid() != 0:
        yield "securityContext.runAsGroup (the node does not run as root)"
    if (own.run_as_non_root or of_pod.run_as_non_root) and not wanted and os.geteuid() == 0:
        yield "securityContext.runAsNonRoot (the node runs as root, and no user is named)"
    fields = {
        "securityContext.capabilities": own.capabilities,
        "securityContext.privileged": own.privileged,
        "securityContext.readOnlyRootFilesystem": own.read_only_root_filesystem,
        "securityContext.seccompProfile": own.seccomp_profile,
        "securityContext.appArmorProfile": own.app_armor_profile,
        "securityContext.seLinuxOptions": own.se_linux_options,
        "securityContext.procMount": own.proc_mount not in (None, "Default"),
        "volumeMounts.mountPropagation": any(each.mount_propagation not in (None, "None") for each in mounts),
        "volumeMounts.recursiveReadOnly": any(each.recursive_read_only not in (None, "Disabled") for each in mounts),
        "volumeDevices": container.volume_devices,
        "ports.hostPort": any(port.host_port for port in container.ports or ()),
    }
    yield from (name for name, value in fields.items() if value)
