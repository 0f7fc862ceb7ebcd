"""`ServiceAccounts`: gives new pods an account and its token, for clusters whose pods run programs."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["ServiceAccounts"]

_STORAGE: Final = "/serviceaccounts"
_DEFAULT: Final = "default"
_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_TRIES, _PAUSE_SECONDS = 10, 0.1


class ServiceAccounts(Plugin):
    """Sets the account of new pods, requires that it exists, and mounts its token, the CA and the namespace."""

    name = "ServiceAccount"

    def __init__(self, state: State) -> None:
        self._state = state

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether it is a new pod."""
        return attributes.operation == "CREATE" and not attributes.subresource and attributes.type.qualified == "pods"

    async def mutate(self, attributes: Attributes) -> None:
        """Changes the pod. Waits shortly for the account of a new namespace. Raises a 403 if there is none."""
        assert attributes.object is not None
        spec: JSONObject = attributes.object["spec"]
        name = spec.get("serviceAccountName") or _DEFAULT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = await self._account(attributes.namespace, name)
        if account is None:
            where = f"{attributes.namespace}/{name}"
            raise attributes.forbidden(f'error looking up service account {where}: serviceaccount "{name}" not found')
        automount = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
        if automount is not False:
            self._mount(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = list(account["imagePullSecrets"])

    async def _account(self, namespace: str, name: str) -> JSONObject | None:
        for attempt in range(_TRIES):
            found = self._state.storage.get(_STORAGE, namespace, name)
            if found is not None:
                return found.decode()
            if attempt < _TRIES - 1:
                await self._state.clock.sleep(_PAUSE_SECONDS)
        return None

    def _mount(self, spec: JSONObject) -> None:
        containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
        without = [
            container
            for container in containers
            if all(mount.get("mountPath") != _MOUNT_PATH for mount in container.get("volumeMounts") or ())
        ]
        if not without:
            return
        name = f"kube-api-access-{''.join(self._state.rng.choices(_LETTERS, k=5))}"
        for container in without:
            mount = {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
        spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "projected": _projected()}]


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
