"""Fills token Secrets of service accounts, and deletes them with the account."""

from __future__ import annotations

import base64
from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.access import Tokens
from kubewright.cluster.controllers._writing import delete, type_of, update
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._work_budget import PROCESSED, SCANNED, WorkBudget
from kubewright.cluster.registry._delete import DeleteOptions
from kubewright.cluster.storage._storage import Entry, Event, RevisionConflict

__all__ = ["TokenSecrets"]

_SECRETS: Final = "/secrets"
_ACCOUNTS: Final = "/serviceaccounts"
_TYPE: Final = "kubernetes.io/service-account-token"
_NAME: Final = "kubernetes.io/service-account.name"
_UID: Final = "kubernetes.io/service-account.uid"
_USER: Final = User("system:kube-controller-manager", ("system:authenticated",))
_Key = tuple[str, str]


class TokenSecrets:
    """Fills Secrets of the type `kubernetes.io/service-account-token`, whose tokens do not expire."""

    def __init__(self, state: State, tokens: Tokens) -> None:
        self._state = state
        self._tokens = tokens
        self._todo: dict[_Key, None] = {}
        self._accountless: dict[str, None] = {}  # namespaces that lost a service account
        self.later: dict[_Key, None] = {}
        self.begin_again()

    def begin_again(self) -> None:
        """Processes every Secret again: the cluster has a new certificate."""
        for entry in self._state.storage.entries(_SECRETS):
            self._notice_secret(entry)

    def notice(self, event: Event) -> None:
        """Records a write of such a Secret, or the deletion of an account."""
        if event.storage == _SECRETS and event.kind != "DELETED":
            self._notice_secret(event.entry)
        elif event.storage == _ACCOUNTS and event.kind == "DELETED":
            self._accountless[event.entry.namespace] = None

    def _notice_secret(self, entry: Entry) -> None:
        if _TYPE.encode() in entry.raw:
            self._todo[entry.namespace, entry.name] = None

    @property
    def busy(self) -> bool:
        """Returns whether work is pending."""
        return bool(self._todo or self._accountless)

    def again(self) -> None:
        """Retries what admission rejected."""
        self._todo |= self.later
        self.later.clear()

    async def work(self, budget: WorkBudget) -> None:
        """Processes everything recorded so far."""
        for namespace in list(self._accountless):
            del self._accountless[namespace]
            for secret in list(self._state.storage.entries(_SECRETS, namespace)):
                self._notice_secret(secret)
                await budget.spend(SCANNED)
        for key in list(self._todo):
            self._todo.pop(key, None)
            entry = self._state.storage.get(_SECRETS, *key)
            if entry is None:
                continue
            try:
                await self._sync(entry)
            except (Failure, RevisionConflict):
                self.later[key] = None
            await budget.spend(PROCESSED)

    async def _sync(self, entry: Entry) -> None:
        type_ = type_of(self._state, _SECRETS)
        assert type_ is not None
        secret = decoded(type_, entry)
        annotations = secret["metadata"].get("annotations") or {}
        name = annotations.get(_NAME)
        if secret.get("type") != _TYPE or not name:
            return
        account = self._state.storage.get(_ACCOUNTS, entry.namespace, name)
        uid = "" if account is None else account.decode()["metadata"]["uid"]
        if not uid or annotations.get(_UID, uid) != uid:
            await delete(self._state, type_, entry, DeleteOptions(uid=secret["metadata"]["uid"]), _USER)
            return
        filled = self._filled(secret, name, uid)
        if filled != secret.get("data"):
            metadata = {**secret["metadata"], "annotations": {**annotations, _NAME: name, _UID: uid}}
            await update(self._state, type_, entry, {**secret, "metadata": metadata, "data": filled}, _USER)

    def _filled(self, secret: JSONObject, account: str, uid: str) -> JSONObject:
        """Returns the data of the Secret with the missing keys."""
        namespace, data = secret["metadata"]["namespace"], dict(secret.get("data") or {})
        if self._state.ca_certificate:
            data["ca.crt"] = _encoded(self._state.ca_certificate)
        if not data.get("namespace"):
            data["namespace"] = _encoded(namespace)
        if not data.get("token"):
            data["token"] = _encoded(self._tokens.issue_legacy(namespace, account, uid, secret["metadata"]["name"]))
        return data


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
