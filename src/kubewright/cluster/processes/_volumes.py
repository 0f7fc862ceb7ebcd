"""`PodVolumes`: the volumes of a pod as folders, kept up to date while the pod runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from kubewright.api import Quantity, core
from kubewright.client import ApiError, Client, NotFound
from kubewright.clock import Clock
from kubewright.cluster.processes._fields import InvalidReference, field_of, resource_of
from kubewright.cluster.processes._files import File, OutsideError, inside, replace_all
from kubewright.cluster.processes._sources import Sources

__all__ = ["PodVolumes", "VolumeFailure", "VolumeSettings"]

_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600
_RETRY_SECONDS: Final = 10.0
_WRITTEN: Final = ("config_map", "secret", "projected", "downward_api")


class VolumeFailure(Exception):
    """A volume that cannot be provided now; the message names it."""


@dataclass(frozen=True)
class VolumeSettings:
    """The folders of a node: `claims` has the folders of claims, `host_root` those of hostPath volumes."""

    claims: Path
    host_root: Path | None
    host_address: str
    allocatable: dict[str, Quantity]


class PodVolumes:
    """Creates the folders of a pod's volumes, and rewrites files when their sources change.

    `address` returns the address of the pod. The files of a ConfigMap, Secret, token or downward API volume are
    replaced together, atomically.
    """

    def __init__(
        self,
        pod: core.Pod,
        folder: Path,
        client: Client,
        sources: Sources,
        settings: VolumeSettings,
        clock: Clock,
        address: str,
    ) -> None:
        self.pod = pod
        self._folder = folder
        self._client = client
        self._sources = sources
        self._settings = settings
        self._clock = clock
        self._address = address
        self._paths: dict[str, Path] = {}
        self._changed = asyncio.Event()
        self._unfollow: list[Callable[[], None]] = []
        self._tokens: dict[tuple[str, str], tuple[bytes, float]] = {}

    def path(self, volume: str) -> Path:
        """Returns the folder (or file) of a volume. Raises `VolumeFailure` for an unknown one."""
        if volume not in self._paths:
            raise VolumeFailure(f'the pod has no volume "{volume}"')
        return self._paths[volume]

    def is_read_only(self, volume: str) -> bool:
        """Returns whether only the node writes the volume."""
        found = self._volume(volume)
        return found is not None and any(getattr(found, kind) is not None for kind in _WRITTEN)

    async def prepare(self) -> None:
        """Provides all volumes. Raises `VolumeFailure`: call it again to retry."""
        for volume in self.pod.spec.volumes or ():
            self._paths[volume.name] = await self._provide(volume)
        self._follow()

    async def keep_up_to_date(self) -> None:
        """Rewrites files after changes, and renews tokens, until canceled."""
        while True:
            due = min((renewal for _, renewal in self._tokens.values()), default=None)
            timer = None
            if due is not None:
                timer = self._clock.call_later(max(due - self._clock.monotonic(), 1.0), self._changed.set)
            try:
                await self._changed.wait()
            finally:
                if timer is not None:
                    timer.cancel()
            self._changed.clear()
            try:
                for volume in self.pod.spec.volumes or ():
                    if self.is_read_only(volume.name):
                        await self._provide(volume)
            except VolumeFailure:  # files stay as they are; a removed source may come back
                self._clock.call_later(_RETRY_SECONDS, self._changed.set)

    def update(self, pod: core.Pod) -> None:
        """Takes a new state of the pod: labels and annotations may be in files."""
        before, self.pod = self.pod, pod
        if (before.metadata.labels, before.metadata.annotations) != (pod.metadata.labels, pod.metadata.annotations):
            self._changed.set()

    def close(self) -> None:
        """Ends the watches."""
        for end in self._unfollow:
            end()
        self._unfollow.clear()

    # Volumes

    def _volume(self, name: str) -> core.Volume | None:
        return next((volume for volume in self.pod.spec.volumes or () if volume.name == name), None)

    async def _provide(self, volume: core.Volume) -> Path:
        try:
            if volume.persistent_volume_claim is not None:
                return await self._claim(volume.persistent_volume_claim.claim_name)
            if volume.ephemeral is not None:
                return await self._claim(f"{self.pod.metadata.name}-{volume.name}")
            if volume.host_path is not None:
                return self._host_path(volume.host_path)
            folder = self._folder / volume.name
            if volume.empty_dir is not None:
                return self._empty(folder)
            if self.is_read_only(volume.name):
                folder.mkdir(parents=True, exist_ok=True)
                files = {path: file async for path, file in self._files(volume)}
                await asyncio.to_thread(replace_all, folder, files, group=self._group)
                return folder
        except (ApiError, InvalidReference, OSError, OutsideError) as error:
            raise VolumeFailure(f'MountVolume.SetUp failed for volume "{volume.name}" : {_reason(error)}') from error
        raise VolumeFailure(f'volume "{volume.name}" has a type that is not supported by this node')

    @property
    def _group(self) -> int | None:
        context = self.pod.spec.security_context
        return context.fs_group if context is not None and os.geteuid() == 0 else None

    def _empty(self, folder: Path) -> Path:
        if not folder.exists():
            folder.mkdir(parents=True)
            self._share(folder)
        return folder

    def _share(self, folder: Path) -> None:
        if self._group is not None:
            os.chown(folder, -1, self._group)
        folder.chmod(0o2777 if self._group is not None else 0o777)

    async def _claim(self, name: str) -> Path:
        namespace = self.pod.metadata.namespace or ""
        try:
            claim = await self._client.get(core.PersistentVolumeClaim, name, namespace)
        except NotFound:
            raise InvalidReference(f'persistentvolumeclaim "{name}" not found') from None
        # By uid: a new claim of the same name is empty.
        folder = self._settings.claims / f"{namespace}_{name}_{claim.metadata.uid}"
        if not folder.exists():
            folder.mkdir(parents=True)
            self._share(folder)
        return folder

    def _host_path(self, source: core.HostPathVolumeSource) -> Path:
        root = self._settings.host_root
        if root is None:
            raise InvalidReference("hostPath volumes need a folder: start the node with host_root (--host-root DIR)")
        relative = source.path.strip("/")
        path = root.joinpath(*inside(root, relative)) if relative else root
        kind = source.type or ""
        if kind == "DirectoryOrCreate":
            path.mkdir(parents=True, exist_ok=True)
        elif kind == "FileOrCreate" and not path.exists():
            path.touch()
        wrong = (kind.startswith("Directory") and not path.is_dir()) or (kind.startswith("File") and not path.is_file())
        if wrong or not path.exists():
            raise InvalidReference(
                f"hostPath {source.path} is not a {kind or 'file or folder'} below the node's host_root"
            )
        return path

    # Files

    async def _files(self, volume: core.Volume) -> AsyncIterator[tuple[str, File]]:
        if volume.projected is not None:
            for source in volume.projected.sources or ():
                async for file in self._source_files(source, volume.projected.default_mode):
                    yield file
            return
        given: Any = volume.config_map or volume.secret or volume.downward_api
        async for file in self._source_files(volume, given.default_mode):
            yield file

    async def _source_files(self, source: Any, default: int | None) -> AsyncIterator[tuple[str, File]]:
        """Yields the files of a volume, or of one source of a projected volume."""
        mode = _MODE if default is None else default
        if source.config_map is not None:
            config = source.config_map
            for file in await self._data(core.ConfigMap, config.name or "", config, mode):
                yield file
        elif source.secret is not None:
            secret = source.secret
            name = getattr(secret, "secret_name", None) or getattr(secret, "name", None) or ""
            for file in await self._data(core.Secret, name, secret, mode):
                yield file
        elif source.downward_api is not None:
            for item in source.downward_api.items or ():
                yield item.path, File(self._downward(item).encode(), mode if item.mode is None else item.mode)
        elif getattr(source, "service_account_token", None) is not None:
            token = source.service_account_token
            yield token.path, File(await self._token(token), mode)
        else:
            raise InvalidReference("a source of the projected volume is not supported by this node")

    async def _data(self, kind: Any, name: str, source: Any, mode: int) -> Sequence[tuple[str, File]]:
        found = await self._sources.get(kind, self.pod.metadata.namespace or "", name, optional=bool(source.optional))
        if found is None:
            return ()
        if not source.items:
            return [(key, File(value, mode)) for key, value in found.items()]
        missing = [item.key for item in source.items if item.key not in found]
        if missing and not source.optional:
            raise InvalidReference(f"references non-existent {kind.__name__.lower()} key: {missing[0]}")
        return [
            (item.path, File(found[item.key], mode if item.mode is None else item.mode))
            for item in source.items
            if item.key in found
        ]

    def _downward(self, item: core.DownwardAPIVolumeFile) -> str:
        if item.field_ref is not None:
            path, host = item.field_ref.field_path, self._settings.host_address
            return field_of(self.pod, path, address=self._address, host_address=host)
        if item.resource_field_ref is not None:
            return resource_of(self.pod, item.resource_field_ref, None, self._settings.allocatable)
        raise InvalidReference(f"the file {item.path} has no source")

    async def _token(self, source: core.ServiceAccountTokenProjection) -> bytes:
        """Returns a token that is bound to the pod; a new one after 80% of its life."""
        key, now = (source.audience or "", source.path), self._clock.monotonic()
        if key in self._tokens and self._tokens[key][1] > now:
            return self._tokens[key][0]
        metadata, spec = self.pod.metadata, self.pod.spec
        account = spec.service_account_name or "default"
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": [source.audience] if source.audience else [],
                "expirationSeconds": source.expiration_seconds or _TOKEN_SECONDS,
                "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": metadata.name, "uid": metadata.uid},
            },
        }
        path = f"/api/v1/namespaces/{metadata.namespace}/serviceaccounts/{account}/token"
        status = msgspec.json.decode(await self._client.request("POST", path, body=asked))["status"]
        life = (datetime.fromisoformat(status["expirationTimestamp"]) - self._clock.now()).total_seconds()
        self._tokens[key] = (status["token"].encode(), now + 0.8 * life)
        return self._tokens[key][0]

    # Changes

    def _follow(self) -> None:
        if self._unfollow:
            return
        wanted: set[tuple[Any, str]] = set()
        for volume in self.pod.spec.volumes or ():
            sources: list[Any] = [*(volume.projected.sources or ())] if volume.projected is not None else [volume]
            for source in sources:
                if source.config_map is not None:
                    wanted.add((core.ConfigMap, source.config_map.name or ""))
                if (secret := source.secret) is not None:
                    name = getattr(secret, "secret_name", None) or getattr(secret, "name", None)
                    wanted.add((core.Secret, name or ""))
        namespace = self.pod.metadata.namespace or ""
        self._unfollow = [self._sources.follow(kind, namespace, name, self._changed.set) for kind, name in wanted]


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
