"""`Launcher`: starts the programs of a pod's containers, with their environment, user, mounts and namespaces."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubewright.api import core
from kubewright.cluster.processes._context import NodeContext
from kubewright.cluster.processes._environment import PATH, expanded
from kubewright.cluster.processes._fields import InvalidReference
from kubewright.cluster.processes._files import OutsideError, create_shared, read_bounded
from kubewright.cluster.processes._images import Image
from kubewright.cluster.processes._mounts import Bind, bind_of, bubblewrap_command, closed_folders, link_all, planned
from kubewright.cluster.processes._replacing import Mounted, check_volumes
from kubewright.cluster.processes._state import AnyContainer, ContainerState
from kubewright.cluster.processes._volumes import PodVolumes, VolumeFailure
from kubewright.cluster.services import PodPorts
from kubewright.kubelet import Child, LocalProcess
from kubewright.supervision import Mounts, Supervised

__all__ = ["Launched", "Launcher", "user_of"]

_SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_TERMINATION_LOG: Final = "/dev/termination-log"
_MAX_MESSAGE: Final = 4096
_MAX_HOSTNAME: Final = 63


@dataclass(frozen=True)
class Launched:
    """A running container, and the settings for further programs in it."""

    process: LocalProcess
    settings: Mapping[str, Any]
    environment: Mapping[str, str]
    directory: str
    wrapped: Mounts | None
    termination: Path

    @property
    def main(self) -> Supervised:
        """The main process."""
        child = self.process.child
        assert isinstance(child, Supervised)
        return child


class Launcher:
    """Starts containers of one pod, and commands in them."""

    def __init__(
        self, node: NodeContext, folder: Path, volumes: PodVolumes, address: str, ports: Mapping[int, int]
    ) -> None:
        self._node = node
        self._folder = folder
        self._volumes = volumes
        self._address = address
        self._ports = ports

    async def start(self, pod: core.Pod, state: ContainerState) -> Launched:
        """Starts the main process of a container.

        Raises `Refused`, `InvalidReference` or `VolumeFailure` for a container that cannot be created, and OSError for
        a program that cannot be started.
        """
        container, image = state.container, state.image
        assert image is not None
        name = container.image or ""
        known = await self._base(pod, image)
        own = await self._node.environment.of(pod, container, address=self._address, known=known)
        image.check_environment(name, [*own])
        own = {variable: _rewritten(value, image, known) for variable, value in own.items()}
        if self._node.mode != "none":  # otherwise no volume is at its path
            check_volumes(name, image, self._mounted(container), container.working_dir)
        # A home in a volume could contain modules that Python imports at its start.
        home = {"PYTHONNOUSERSITE": "1"} if "HOME" in own else {}
        environment = {**home, **known, **own, **self._markers(pod, state)}
        expanding = (container.command, container.args)
        given, args = ([expanded(each, environment) for each in words or ()] for words in expanding)
        command = [_rewritten(each, image, environment) for each in image.command_for(name, given, args)]
        settings: dict[str, Any] = user_of(pod, container, image)
        security = container.security_context
        settings["no_new_privileges"] = security is not None and security.allow_privilege_escalation is False
        settings["marker"] = f"KUBEWRIGHT_CONTAINER={environment['KUBEWRIGHT_CONTAINER']}"
        settings["family"] = self._node.next_family()
        termination = self._termination_file(state)
        try:
            binds = self._binds(container, image, environment, termination, settings.get("user"))
            wrapped = self._mount(state, binds, environment, settings)
        except (OSError, OutsideError) as error:
            raise VolumeFailure(f"cannot mount the volumes of container {state.name}: {error}") from error
        if self._node.mode == "namespace":
            settings["hostname"] = _hostname(pod)
        directory = container.working_dir or image.directory or "/"
        if wrapped is not None:
            command = bubblewrap_command(wrapped, command, None)
            settings["wrapper"] = True
        supervisor = await self._node.running_supervisor()

        async def spawn(command: Sequence[str], **given: Any) -> Child:
            return await supervisor.spawn(command, **given, **settings)

        process = await LocalProcess.start(
            command,
            environment=environment,
            directory=directory,
            stdin=bool(container.stdin),
            tty=bool(container.tty),
            spawn=spawn,
        )
        return Launched(process, settings, environment, directory, wrapped, termination)

    async def execute(
        self, launched: Launched, command: Sequence[str], *, stdin: bool = False, tty: bool = False
    ) -> LocalProcess:
        """Starts a command in a running container. The mapping must have allowed it. Raises OSError."""
        settings = dict(launched.settings)
        if settings.pop("mounts", None) is not None:
            settings["join"] = launched.main
        if launched.wrapped is not None:
            command = bubblewrap_command(launched.wrapped, command, None)
        # Its end must not end the container, and it ends with the container, whose family it has.
        settings["marker"] = ""
        supervisor = await self._node.running_supervisor()

        async def spawn(command: Sequence[str], **given: Any) -> Child:
            return await supervisor.spawn(command, **given, **settings)

        environment, directory = launched.environment, launched.directory
        return await LocalProcess.start(
            command, environment=environment, directory=directory, stdin=stdin, tty=tty, spawn=spawn
        )

    def termination_message(self, launched: Launched) -> str:
        """Returns what the program has written to its termination message path."""
        return read_bounded(launched.termination, _MAX_MESSAGE).decode(errors="replace")

    # Parts

    async def _base(self, pod: core.Pod, image: Image) -> dict[str, str]:
        """Returns the variables that do not come from the pod's spec."""
        fixed = {"PATH": PATH, "HOSTNAME": _hostname(pod), "HOME": "/", "POD_IP": self._address}
        fixed |= PodPorts.environment(self._ports)
        return {**fixed, **self._node.services(pod), **image.environment}

    def _markers(self, pod: core.Pod, state: ContainerState) -> dict[str, str]:
        name, _, value = self._node.marker.partition("=")
        return {name: value, "KUBEWRIGHT_CONTAINER": f"{pod.metadata.uid}/{state.name}/{state.restarts}"}

    def _termination_file(self, state: ContainerState) -> Path:
        path = self._folder / "termination" / state.name
        path.parent.mkdir(parents=True, exist_ok=True)
        create_shared(path)
        return path

    def _mounted(self, container: AnyContainer) -> list[Mounted]:
        mounts = [
            Mounted(each.mount_path, self._volumes.is_read_only(each.name)) for each in container.volume_mounts or ()
        ]
        return [*mounts, Mounted(container.termination_message_path or _TERMINATION_LOG, written=False)]

    def _binds(
        self,
        container: AnyContainer,
        image: Image,
        environment: Mapping[str, str],
        termination: Path,
        user: int | None,
    ) -> list[Bind]:
        binds = [
            Bind(termination, (), container.termination_message_path or _TERMINATION_LOG, read_only=False),
        ]
        for mount in container.volume_mounts or ():
            source = self._volumes.path(mount.name)
            path = mount.sub_path or (expanded(mount.sub_path_expr, environment) if mount.sub_path_expr else "")
            read_only = bool(mount.read_only) or self._volumes.is_read_only(mount.name)
            binds.append(bind_of(source, path, mount.mount_path, read_only=read_only))
        kept = sorted({os.path.realpath(each) for each in image.keep})
        if user:
            binds += [Bind(self._empty_folder(), (), each, read_only=False) for each in closed_folders(kept)]
        hiding = [os.path.realpath(bind.target) for bind in binds]
        hidden = [each for each in kept if any(each.startswith(f"{target}/") for target in hiding)]
        return binds + [Bind(Path(each), (), each, read_only=False) for each in hidden]

    def _empty_folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="closed-", dir=self._folder))
        folder.chmod(0o755)
        return folder

    def _mount(
        self, state: ContainerState, binds: Sequence[Bind], environment: dict[str, str], settings: dict[str, Any]
    ) -> Mounts | None:
        """Adds the mounts to the settings of the process, or returns those of a wrapper."""
        root = self._folder / "roots" / state.name
        root.mkdir(parents=True, exist_ok=True)
        if self._node.mode == "namespace":
            settings["mounts"] = planned(binds, root)
            return None
        if self._node.mode == "bubblewrap":
            return planned(binds, root)
        link_all(binds, root)
        environment["KUBEWRIGHT_POD_ROOT"] = str(root)
        if any(bind.target.rstrip("/") == _SERVICE_ACCOUNT for bind in binds):
            environment["KUBEWRIGHT_SERVICE_ACCOUNT"] = str(root) + _SERVICE_ACCOUNT
        return None


def user_of(pod: core.Pod, container: AnyContainer, image: Image) -> dict[str, Any]:
    """Returns the user and groups of a container, if this process may change them.

    Raises `InvalidReference`, and `Refused` for a user that this machine does not have.
    """
    of_pod = pod.spec.security_context or core.PodSecurityContext()
    own = container.security_context or core.SecurityContext()
    user = _first(own.run_as_user, of_pod.run_as_user)
    if user is None and os.geteuid() == 0:
        user = image.user_id
    group = _first(own.run_as_group, of_pod.run_as_group)
    if _first(own.run_as_non_root, of_pod.run_as_non_root) and user == 0:
        raise InvalidReference("container's runAsUser breaks non-root policy")
    if os.geteuid() != 0:
        return {}
    groups = [*(of_pod.supplemental_groups or ()), *([of_pod.fs_group] if of_pod.fs_group is not None else ())]
    if user is None and group is None and not groups:
        return {}
    return {"user": user, "group": group if group is not None or user is None else 0, "groups": groups}


def _rewritten(word: str, image: Image, environment: Mapping[str, str]) -> str:
    for part, replacement in image.rewrite.items():
        word = word.replace(part, expanded(replacement, environment))
    return word


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _hostname(pod: core.Pod) -> str:
    return (pod.spec.hostname or pod.metadata.name or "")[:_MAX_HOSTNAME].rstrip("-.")
