"""Runs the operator with its own service account, which has only the generated roles."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kubewright.api import ObjectMeta, core, rbac
from kubewright.client import Client
from kubewright.manifests import roles_of, service_account_of, system_namespace
from kubewright.operator import Operator

__all__ = ["account_for"]

_MANAGER: Final = "kubewright-dev"
_GROUP: Final = "rbac.authorization.k8s.io"
_LIFE: Final = 30 * 24 * 3600  # longer than any session without a save, which brings a new token


async def account_for(operator: Operator, kubeconfig: str, folder: Path) -> Path:
    """Creates the account and its roles, like `kubewright deploy`, and writes a kubeconfig with its token.

    Roles that only the previous version of the program needed are revoked.
    """
    from kubewright.client import load_config
    from kubewright.kubeconfig import write_kubeconfig

    namespace = system_namespace(operator)
    made = roles_of(operator, namespace=namespace)
    async with Client.connect(kubeconfig=kubeconfig) as admin:
        applying = admin.writing_as(_MANAGER)
        await applying.apply(core.Namespace(metadata=ObjectMeta(name=namespace)), force=True)
        account = service_account_of(operator, namespace=namespace)
        for obj in (account, *made.roles, *made.bindings, *_for_webhooks(operator, namespace)):
            await applying.apply(obj, force=True)
        token = await admin.create_token(operator.name, namespace, expiration_seconds=_LIFE)
    assert token.status is not None
    assert token.status.token
    config = load_config(kubeconfig=kubeconfig)
    path = folder / "operator.kubeconfig"
    write_kubeconfig(
        path, server=config.server, ca=config.tls.ca_data, user=operator.name, credentials=token.status.token
    )
    return path


def _for_webhooks(operator: Operator, namespace: str) -> list[rbac.ClusterRole | rbac.ClusterRoleBinding]:
    """Returns roles that a deployed operator does not need: in development it registers its own webhooks."""
    if not operator.has_webhooks:
        return []
    name = f"{operator.name}-dev-webhooks"
    rule = rbac.PolicyRule(
        api_groups=["admissionregistration.k8s.io"],
        resources=["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        verbs=["create", "delete", "get", "list", "patch", "update", "watch"],
    )
    subject = rbac.Subject(kind="ServiceAccount", name=operator.name, namespace=namespace)
    return [
        rbac.ClusterRole(metadata=ObjectMeta(name=name), rules=[rule]),
        rbac.ClusterRoleBinding(
            metadata=ObjectMeta(name=name),
            role_ref=rbac.RoleRef(api_group=_GROUP, kind="ClusterRole", name=name),
            subjects=[subject],
        ),
    ]
