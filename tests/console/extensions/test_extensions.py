"""Extensions without a browser: registration, loading, permissions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, core
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.console import ActionContext, Console, Extension, ExtensionError, ExtensionPage, Needs, attach_console
from kubewright.console.extensions import check_extensions, load_extension, missing_need
from kubewright.operator import SettingError


async def _page(page: ExtensionPage) -> None: ...


async def _action(action: ActionContext[core.ConfigMap]) -> str | None:
    return None


def test_rejects_invalid_registrations() -> None:
    extension = Extension("fleet")
    assert extension.title == "fleet"
    extension.page("ships", title="Ships")(_page)
    extension.action(core.ConfigMap, "refit", title="Refit")(_action)
    with pytest.raises(ValueError, match="name of an Extension must consist of lowercase letters"):
        Extension("My Fleet")
    with pytest.raises(ValueError, match="already has a page 'ships'"):
        extension.page("ships", title="Ships")
    with pytest.raises(ValueError, match="already has an action 'refit' on core/configmaps"):
        extension.action(core.ConfigMap, "refit", title="Refit")
    with pytest.raises(ValueError, match="must name its kind"):
        extension.page("other", title="Other", needs="list")
    with pytest.raises(ValueError, match="at least one permission"):
        extension.action(core.ConfigMap, "sink", title="Sink", needs=())
    with pytest.raises(TypeError, match="must be an async function"):
        extension.page("plain", title="Plain")(lambda page: None)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="the verb of Needs"):
        Needs("Patch")
    assert [one.id for one in extension.actions_of("core/configmaps")] == ["fleet/refit"]
    assert extension.actions_of("core/secrets") == []


def test_loads_extension_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from kubewright.console import Extension\nfleet = Extension('fleet')\nother = 3\n"
    (tmp_path / "loaded_fleet.py").write_text(code)
    (tmp_path / "broken_fleet.py").write_text("raise RuntimeError('no sails')")
    monkeypatch.syspath_prepend(tmp_path)
    fleet = load_extension("loaded_fleet:fleet")
    assert fleet.name == "fleet"
    assert load_extension(fleet) is fleet
    for name, message in {
        "loaded_fleet": "use module:name, such as fleet.ui:fleet",
        "loaded_fleet:other": "has no Extension named 'other', but int",
        "no_such_fleet:fleet": "cannot import extension no_such_fleet:fleet: ModuleNotFoundError",
        "broken_fleet:fleet": "cannot import extension broken_fleet:fleet: RuntimeError: no sails",
    }.items():
        with pytest.raises(ExtensionError, match=message):
            load_extension(name)
    with pytest.raises(ExtensionError, match="two extensions have the name 'fleet'"):
        check_extensions([fleet, Extension("fleet")])
    assert check_extensions([fleet, fleet]) == (fleet,)


def test_operator_declares_extensions_by_name() -> None:
    operator = kw.Operator("fleet")
    operator.extend_console("fleet.ui:fleet")
    operator.extend_console("fleet.ui:fleet")
    assert operator.console_extensions == ["fleet.ui:fleet"]
    with pytest.raises(ValueError, match="must be module:name"):
        operator.extend_console("fleet.ui")


@pytest.mark.promise(
    "Access to the console and its cost", "An operator without a console imports neither its extensions nor NiceGUI."
)
def test_declared_extensions_are_not_imported_without_a_console(tmp_path: Path) -> None:
    (tmp_path / "quiet_ui.py").write_text("raise RuntimeError('imported')")
    code = (
        "import sys, kubewright as kw\n"
        "operator = kw.Operator('quiet')\n"
        "operator.extend_console('quiet_ui:quiet')\n"
        "loaded = [name for name in sys.modules if name.startswith(('nicegui', 'quiet_ui', 'kubewright.console'))]\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


async def test_extension_that_cannot_be_imported_fails_the_start(cluster: Cluster) -> None:
    operator = kw.Operator("broken")
    operator.extend_console("no_such_module:ui")

    @operator.reconciles(core.ConfigMap)
    async def nothing(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None: ...

    attach_console(operator)
    async with cluster.client() as client:
        with pytest.raises(SettingError, match="cannot import extension no_such_module:ui"):
            async with operator.running(client):
                pass


class _Answers:
    """A viewer with fixed permissions."""

    def __init__(self, *allowed: tuple[str, str, str]) -> None:
        self.allowed = allowed
        self.asked: list[tuple[Any, ...]] = []

    async def may(self, verb: str, kind: Any, namespace: str | None, name: str | None, subresource: str) -> bool:
        self.asked.append((verb, kind.plural, namespace, name, subresource))
        return (verb, kind.plural, namespace or "") in self.allowed

    async def namespaces_of(self, kind: Any) -> frozenset[str]:
        return frozenset(where for verb, plural, where in self.allowed if (verb, plural) == ("list", kind.plural))


async def test_names_the_missing_permission(cluster: Cluster, console: Console) -> None:
    own = await console.kind("core/configmaps")
    needs = [Needs("patch"), Needs("create", core.Pod, "exec")]

    async def missing(viewer: _Answers, wanted: list[Needs], namespace: str = "shop") -> str | None:
        found = await missing_need(wanted, console, viewer, own, namespace, "it")  # type: ignore[arg-type]
        return None if found is None else found[2]

    some = _Answers(("patch", "configmaps", "shop"))
    assert await missing(some, needs) == "you need the verb “create” on pods/exec"
    # A permission for one object is sufficient for the object itself. A new object has no name yet.
    assert some.asked == [("patch", "configmaps", "shop", "it", ""), ("create", "pods", "shop", None, "exec")]
    assert await missing(_Answers(), needs) == "you need the verb “patch” on configmaps"
    assert await missing(_Answers(("list", "pods", "shop")), [Needs("list", core.Pod)], "") is None
    assert await missing(_Answers(), [Needs("list", core.Pod)], "") == "you need the verb “list” on pods"


async def test_page_reads_with_the_permissions_of_the_viewer(
    cluster: Cluster, console: Console, cluster_namespace: str
) -> None:
    closing: list[Any] = []
    async with cluster.client() as client:
        for name in ("b", "a"):
            await client.create(core.ConfigMap(metadata=ObjectMeta(name=name, namespace=cluster_namespace)))
        page = ExtensionPage(
            console,
            console.viewer(),
            "fleet",
            path="shop/it",
            on_close=closing.append,
            on_error=lambda error: None,
        )
        assert isinstance(page.client, Client)
        found = await page.objects(core.ConfigMap, cluster_namespace)
        assert [one.metadata.name for one in found if one.metadata.name != "kube-root-ca.crt"] == ["a", "b"]
        one = await page.get(core.ConfigMap, "a", cluster_namespace)
        assert one is not None
        assert await page.get(core.ConfigMap, "c", cluster_namespace) is None
        assert await page.may("patch", core.ConfigMap, cluster_namespace)
        assert page.address("ships", "a b/c", x="1&2") == "/extensions/fleet/ships/a%20b/c?x=1%262"
        assert page.object_address(one, "edit") == f"/objects/core/configmaps/{cluster_namespace}/a/edit"
        assert page.new_address(core.ConfigMap, "shop", one).endswith(f"namespace=shop&copy={cluster_namespace}%2Fa")
        address = page.new_address(core.ConfigMap, values={"data": {"a": "b&c"}})
        assert address == "/kinds/core/configmaps/new?values=%7B%22data%22%3A%7B%22a%22%3A%22b%26c%22%7D%7D"

        with pytest.raises(LookupError, match=r"does not show fleets\.example\.com/fleets"):
            await page.objects(kw.Untyped.kind_of("fleets.example.com/v1", "Fleet", plural="fleets"))
        for close in closing:
            close()
