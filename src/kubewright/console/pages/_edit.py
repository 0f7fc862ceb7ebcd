"""Creating and changing objects: the pages."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from nicegui import ui

from kubewright.console._kinds import Kind
from kubewright.console._visits import Visit, page
from kubewright.console.pages._edit_change import ChangePage
from kubewright.console.pages._edit_new import NewPage
from kubewright.console.pages._frame import frame
from kubewright.console.pages._problems import KindMissing

__all__ = ["KEPT_SECONDS", "edit", "kind_at", "listening", "new"]

KEPT_SECONDS: Final = 300.0
"""So long a form that somebody writes in is kept when its browser loses the connection: a tunnel, a lid."""
_CONNECT_SECONDS: Final = 60.0

ui.add_css((Path(__file__).parents[1] / "_static" / "forms.css").read_text(), shared=True)


@page("/kinds/{group}/{plural}/new", kept_seconds=KEPT_SECONDS)
async def new(visit: Visit, group: str, plural: str, namespace: str = "") -> None:
    """A new object of a kind."""
    kind = await kind_at(visit, group, plural)
    with frame(visit, f"New {kind.kind}", kind=kind, namespace=namespace) as around:
        await listening(visit)
        await NewPage(visit, around.shell, kind, namespace).draw()


@page("/objects/{group}/{plural}/{namespace}/{name}/edit", kept_seconds=KEPT_SECONDS)
async def edit(visit: Visit, group: str, plural: str, namespace: str, name: str) -> None:
    """Change an object."""
    kind = await kind_at(visit, group, plural)
    place = namespace if kind.namespaced else ""
    with frame(visit, f"Edit {name}", kind=kind, namespace=place) as around:
        await listening(visit)
        await ChangePage(visit, around.shell, kind, place, name).draw()


async def listening(visit: Visit) -> None:
    """Wait until the browser is heard. What is typed before that is lost, so nothing to type into is shown."""
    with ui.element("div").classes("kw-form-part") as waiting:
        ui.spinner()
    await visit.browser.connected(timeout=_CONNECT_SECONDS)
    waiting.delete()


async def kind_at(visit: Visit, group: str, plural: str) -> Kind:
    """The kind of an address; `KindMissing` when the cluster has none."""
    path = f"{group}/{plural}"
    kind = await visit.console.kind(path)
    if kind is None:
        raise KindMissing(path, await visit.console.kinds())
    return kind
