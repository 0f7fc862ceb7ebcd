"""Who the operator is, and what it may do: tokens that are replaced and refused, rights that are withdrawn."""

from __future__ import annotations

import asyncio
import logging

import pytest
from msgspec.structs import replace

from kubewright.api import core, meta, rbac
from kubewright.client import Client, Credentials, MergePatch, Unauthorized, load_config
from kubewright.operator import Running
from kubewright.testing import ControlPlane, Proxy, ServiceAccount
from tests.faults.toys import (
    Journal,
    Toy,
    health_of,
    is_watching,
    metric,
    reconciled,
    store_equals_server,
    toy,
    toy_operator,
)
from tests.patience import until

pytestmark = pytest.mark.control_plane

RBAC = "rbac.authorization.k8s.io"
CONFIG_MAPS = rbac.PolicyRule(api_groups=[""], resources=["configmaps", "events"], verbs=["*"])
TOYS = rbac.PolicyRule(api_groups=["faults.example.com"], resources=["toys", "toys/status"], verbs=["*"])


async def grant(admin: Client, account: ServiceAccount, name: str, rule: rbac.PolicyRule) -> None:
    metadata = meta.ObjectMeta(name=name, namespace=account.namespace)
    await admin.create(rbac.Role(metadata=metadata, rules=[rule]))
    await bind(admin, account, name)


async def bind(admin: Client, account: ServiceAccount, name: str) -> None:
    await admin.create(
        rbac.RoleBinding(
            metadata=meta.ObjectMeta(name=name, namespace=account.namespace),
            role_ref=rbac.RoleRef(api_group=RBAC, kind="Role", name=name),
            subjects=[rbac.Subject(kind="ServiceAccount", name=account.name, namespace=account.namespace)],
        )
    )


async def revoke(plane: ControlPlane, account: ServiceAccount, token: str) -> None:
    """Makes the server reject a token. It caches valid ones for ten seconds, unless it is restarted."""
    await asyncio.to_thread(account.revoke, token)
    await asyncio.to_thread(plane.restart_apiserver)
    config = replace(load_config(kubeconfig=plane.kubeconfig), credentials=Credentials(token=token))
    async with Client(config) as bare:
        with pytest.raises(Unauthorized):
            await bare.server_version()


@pytest.mark.promise("What happens when", "A replaced token is used at once; a refused one is said, and waited for.")
async def test_a_replaced_token_is_used_at_once_and_a_refused_one_is_said_and_waited_for(
    plane: ControlPlane, admin: Client, room: str, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    account = await asyncio.to_thread(plane.add_service_account, "robot", room)
    await grant(admin, account, "toys", TOYS)
    await grant(admin, account, "config-maps", CONFIG_MAPS)
    operator = toy_operator(room, journal)
    async with (
        Client.connect(kubeconfig=account.kubeconfig) as client,
        operator.running(client, install_crds=False) as running,
    ):
        await admin.create(toy("before", room))
        await reconciled(admin, room, "before")

        # Replaced in time, as the kubelet does it: the operator reads the new one when the old one is refused.
        await revoke(plane, account, await asyncio.to_thread(account.rotate))
        await admin.create(toy("rotated", room))
        await reconciled(admin, room, "rotated")
        await until(lambda: is_watching(running), "the watches")
        assert "credentials" not in caplog.text

        # Refused before there is another one: said, and waited for.
        used = account.token
        await revoke(plane, account, used)
        await until(lambda: "does not accept the credentials" in health_of(running).last_error, "the reason")
        assert "the server does not accept the credentials" in caplog.text
        assert metric(operator, "rest_client_requests_total", code="401") > 0
        assert metric(operator, "kubewright_watch_up", kind="Toy") == 0
        await admin.create(toy("during", room))
        await asyncio.to_thread(account.rotate)
        await reconciled(admin, room, "before", "rotated", "during")
        await store_equals_server(running, admin, room)
        assert used not in caplog.text
        assert account.token not in caplog.text


@pytest.mark.promise(
    "What happens when",
    "A right that is withdrawn is named; given back, it is used without a restart.",
)
async def test_a_right_that_is_withdrawn_is_named_and_one_that_is_given_back_is_used(
    plane: ControlPlane, admin: Client, room: str, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubewright")
    proxy = plane.proxy()
    account = await asyncio.to_thread(plane.add_service_account, "robot", room)
    await grant(admin, account, "toys", TOYS)
    await grant(admin, account, "config-maps", CONFIG_MAPS)
    operator = toy_operator(room, journal)
    async with (
        Client.connect(kubeconfig=account.through(proxy)) as client,
        operator.running(client, install_crds=False) as running,
    ):
        for name in ("one", "two"):
            await admin.create(toy(name, room))
        await reconciled(admin, room, "one", "two")

        await admin.delete(rbac.RoleBinding, "toys", room)
        await said(running, proxy)
        assert health_of(running).state == "waiting"
        assert metric(operator, "rest_client_requests_total", code="403") > 0
        assert metric(operator, "kubewright_watch_up", kind="Toy") == 0
        await until(lambda: health_of(running, core.ConfigMap).state == "watching", "the watch that may be")
        await admin.patch(Toy, "one", MergePatch({"spec": {"size": 5}}), room)
        await admin.create(toy("three", room))

        await bind(admin, account, "toys")
        await reconciled(admin, room, "one", "two", "three")
        await until(lambda: is_watching(running), "the watches")
        assert health_of(running).last_error == ""
        await store_equals_server(running, admin, room)
    assert f'User "{account.user}" cannot watch resource "toys"' in caplog.text
    assert "watching again" in caplog.text


async def said(running: Running, proxy: Proxy) -> None:
    """Servers do not end watches whose right was withdrawn: it is noticed when a watch is opened again."""

    def check() -> bool:
        if health_of(running).state == "watching":
            proxy.cut()  # the server may not have heard of the withdrawal at the first time
        return "the verb 'watch' on toys.faults.example.com is forbidden" in health_of(running).last_error

    await until(check, "the name of the missing right")
