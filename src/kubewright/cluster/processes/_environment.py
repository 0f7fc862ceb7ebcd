"""The environment of a container: `env`, `envFrom`, `valueFrom`, and `$(NAME)` in values and commands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewright.api import Quantity, core
from kubewright.cluster.processes._fields import InvalidReference, field_of, resource_of
from kubewright.cluster.processes._sources import Sources

__all__ = ["PATH", "Environment", "expanded"]

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()$\s]{1,1024})\))")
_NAME: Final = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_MAX_BYTES: Final = 1 << 20


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Replaces `$(NAME)` by its value. Unknown names stay as they are, and `$$` stands for `$`."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return variables.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


class Environment:
    """Resolves the variables that a pod's containers set.

    Args:
        sources: ConfigMaps and Secrets.
        allocatable: the resources of the node, for containers without limits.
    """

    def __init__(self, sources: Sources, allocatable: Mapping[str, Quantity], host_address: str) -> None:
        self._sources = sources
        self._allocatable = allocatable
        self._host_address = host_address

    async def of(
        self,
        pod: core.Pod,
        container: core.Container | core.EphemeralContainer,
        *,
        address: str,
        known: Mapping[str, str],
    ) -> dict[str, str]:
        """Returns the variables of the container's spec. References see `known` and earlier variables.

        Raises `InvalidReference`.
        """
        made: dict[str, str] = {}
        for source in container.env_from or ():
            made.update(await self._all_of(pod, source))
        for variable in container.env or ():
            if variable.value_from is None:
                made[variable.name] = expanded(variable.value or "", {**known, **made})
            elif (value := await self._value(pod, container, variable.value_from, address)) is not None:
                made[variable.name] = value
        if sum(len(name) + len(value) for name, value in made.items()) > _MAX_BYTES:
            raise InvalidReference(f"the environment is larger than {_MAX_BYTES >> 20} MiB")
        if bad := [name for name, value in made.items() if "\0" in name + value or "=" in name]:
            raise InvalidReference(f"the environment variable {bad[0]!r} has invalid characters")
        return made

    async def _all_of(self, pod: core.Pod, source: core.EnvFromSource) -> dict[str, str]:
        namespace = pod.metadata.namespace or ""
        found: Mapping[str, bytes] | None = {}
        if (config := source.config_map_ref) is not None:
            found = await self._sources.get(
                core.ConfigMap, namespace, config.name or "", optional=bool(config.optional)
            )
        elif (secret := source.secret_ref) is not None:
            found = await self._sources.get(core.Secret, namespace, secret.name or "", optional=bool(secret.optional))
        prefix = source.prefix or ""
        return {
            prefix + key: _text(key, value) for key, value in (found or {}).items() if _NAME.fullmatch(prefix + key)
        }

    async def _value(self, pod: core.Pod, container: Any, source: core.EnvVarSource, address: str) -> str | None:
        namespace = pod.metadata.namespace or ""
        kinds: Sequence[tuple[type[core.ConfigMap] | type[core.Secret], Any]] = (
            (core.ConfigMap, source.config_map_key_ref),
            (core.Secret, source.secret_key_ref),
        )
        for kind, selector in kinds:
            if selector is None:
                continue
            optional = bool(selector.optional)
            found = await self._sources.get(kind, namespace, selector.name or "", optional=optional)
            if found is None or selector.key not in found:
                if optional:
                    return None
                raise InvalidReference(
                    f"couldn't find key {selector.key} in {kind.__name__} {namespace}/{selector.name}"
                )
            return _text(selector.key, found[selector.key])
        if source.field_ref is not None:
            path = source.field_ref.field_path
            return field_of(pod, path, address=address, host_address=self._host_address)
        if source.resource_field_ref is not None:
            return resource_of(pod, source.resource_field_ref, container, self._allocatable)
        raise InvalidReference("the source of an environment variable is not supported (fileKeyRef)")


def _text(key: str, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InvalidReference(f"the value of {key} is not UTF-8") from None
