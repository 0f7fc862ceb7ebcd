"""`ServiceAccounts`: gives new pods an account and its token, for clusters whose pods run programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["ServiceAccounts"]

_STORAGE: Final = "/serviceaccounts"
_DEFAULT: Final = "default"
_VOLUME: Final = "kube-api-access-"
_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_MIRROR: Final = "kubernetes.io/config.mirror"
_ENFORCE: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_READ_ATTEMPTS, _PAUSE_SECONDS = 10, 0.1


class ServiceAccounts(Plugin):
    """Sets the account of new pods, requires that it exists, and mounts its token, the CA and the namespace.

    An account with the annotation `kubernetes.io/enforce-mountable-secrets` restricts the Secrets of its pods.
    """

    name = "ServiceAccount"

    def __init__(self, state: State) -> None:
        self._state = state

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether the write creates a pod, or adds an ephemeral container."""
        if attributes.type.qualified != "pods":
            return False
        creates = attributes.operation == "CREATE" and not attributes.subresource
        return creates or (attributes.operation == "UPDATE" and attributes.subresource == "ephemeralcontainers")

    async def mutate(self, attributes: Attributes) -> None:
        """Changes a new pod. Waits briefly for the default account of a new namespace. Raises a 403."""
        assert attributes.object is not None
        if attributes.operation != "CREATE":
            return
        if _is_mirror(attributes.object):
            await self.validate(attributes)  # before the pod itself is validated
            return
        spec: JSONObject = attributes.object["spec"]
        name = spec.get("serviceAccountName") or _DEFAULT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = await self._account(attributes, name)
        automount = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
        if automount is not False:
            self._mount(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in account["imagePullSecrets"]]
        await self.validate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Raises a 403 for a pod that its account does not allow."""
        assert attributes.object is not None
        pod = attributes.object
        if attributes.operation == "CREATE" and _is_mirror(pod):
            for problem in _of_mirror(pod["spec"]):
                raise attributes.forbidden(problem)
            return
        name = pod["spec"].get("serviceAccountName")
        if not name:
            metadata = pod["metadata"]
            raise attributes.forbidden(
                f"no service account specified for pod {attributes.namespace}/{metadata.get('name', '')}"
            )
        account = await self._account(attributes, name)
        if (account["metadata"].get("annotations") or {}).get(_ENFORCE) in _TRUE:
            created = attributes.operation == "CREATE"
            for problem in _of_secrets(pod["spec"], account) if created else _of_ephemeral(pod["spec"], account):
                raise attributes.forbidden(problem)

    async def _account(self, attributes: Attributes, name: str) -> JSONObject:
        namespace = attributes.namespace
        tries = _READ_ATTEMPTS if name == _DEFAULT else 1  # a controller creates the default one
        for attempt in range(tries):
            if attempt:
                await self._state.clock.sleep(_PAUSE_SECONDS)
            found = self._state.storage.get(_STORAGE, namespace, name)
            if found is not None:
                return found.decode()
        where = f"{namespace}/{name}"
        raise attributes.forbidden(f'error looking up service account {where}: serviceaccount "{name}" not found')

    def _mount(self, spec: JSONObject) -> None:
        volumes = spec.get("volumes") or []
        existing = next((each["name"] for each in volumes if each["name"].startswith(_VOLUME)), None)
        name = existing or _VOLUME + "".join(self._state.rng.choices(_LETTERS, k=5))
        needed = False
        for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
            mounts = container.get("volumeMounts") or []
            if all(mount.get("mountPath") != _MOUNT_PATH for mount in mounts):
                container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}]
                needed = True
        if needed and existing is None:
            spec["volumes"] = [*volumes, {"name": name, "projected": _projected()}]


def _is_mirror(pod: JSONObject) -> bool:
    return _MIRROR in (pod["metadata"].get("annotations") or {})


def _of_mirror(spec: JSONObject) -> Iterator[str]:
    """Yields the references that a mirror pod must not have."""
    if spec.get("serviceAccountName"):
        yield "a mirror pod may not reference service accounts"
    volumes: list[dict[str, Any]] = spec.get("volumes") or []
    sources = [source for each in volumes for source in (each.get("projected") or {}).get("sources") or ()]
    groups = [*(spec.get("initContainers") or ()), *spec["containers"], *(spec.get("ephemeralContainers") or ())]
    references = [name for container in groups for _, name in _references(container)]
    if references or spec.get("imagePullSecrets") or any(each.get("secret") for each in (*volumes, *sources)):
        yield "a mirror pod may not reference secrets"
    if any(each.get("serviceAccountToken") for each in sources):
        yield "a mirror pod may not use ServiceAccountToken volume projections"


def _references(container: JSONObject) -> Iterator[tuple[str, str]]:
    """Yields how a container refers to Secrets, and their names."""
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable['name']}", reference.get("name", "")
    for source in container.get("envFrom") or ():
        if source.get("secretRef") is not None:
            yield "envFrom", source["secretRef"].get("name", "")


def _of_secrets(spec: JSONObject, account: JSONObject) -> Iterator[str]:
    """Yields the Secrets of a pod that its account does not list."""
    allowed, owner = _listed(account, "secrets"), account["metadata"]["name"]
    for volume in spec.get("volumes") or ():
        name = (volume.get("secret") or {}).get("secretName", "")
        if volume.get("secret") is not None and name not in allowed:
            yield (
                f'volume with secret.secretName="{name}" is not allowed because service account {owner} does not '
                "reference that secret"
            )
    yield from _of_containers("init container", spec.get("initContainers"), account)
    yield from _of_containers("container", spec["containers"], account)
    pulling = _listed(account, "imagePullSecrets")
    for number, each in enumerate(spec.get("imagePullSecrets") or ()):
        if each.get("name", "") not in pulling:
            yield (
                f'imagePullSecrets[{number}].name="{each.get("name", "")}" is not allowed because service account '
                f"{owner} does not reference that imagePullSecret"
            )


def _of_ephemeral(spec: JSONObject, account: JSONObject) -> Iterator[str]:
    yield from _of_containers("ephemeral container", spec.get("ephemeralContainers"), account)


def _of_containers(kind: str, containers: list[JSONObject] | None, account: JSONObject) -> Iterator[str]:
    allowed, owner = _listed(account, "secrets"), account["metadata"]["name"]
    for container in containers or ():
        for how, name in _references(container):
            if name not in allowed:
                yield (
                    f'{kind} {container["name"]} with {how} referencing secret.secretName="{name}" is not allowed '
                    f"because service account {owner} does not reference that secret"
                )


def _listed(account: JSONObject, field: str) -> set[str]:
    return {each.get("name", "") for each in account.get(field) or ()}


def _projected() -> JSONObject:
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }
