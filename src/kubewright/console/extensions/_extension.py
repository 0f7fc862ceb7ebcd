"""`Extension`: a named set of pages and actions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from kubewright.api import Object
from kubewright.arguments import check_string
from kubewright.console.extensions._context import ActionContext, ExtensionPage
from kubewright.console.extensions._needs import Needs, NeedsLike, needs_of, path_of
from kubewright.counts import counted

__all__ = ["Action", "Extension", "Page"]

T = TypeVar("T", bound=Object)
DrawT = TypeVar("DrawT", bound="Callable[[ExtensionPage], Awaitable[None]]")
Run: TypeAlias = "Callable[[ActionContext[T]], Awaitable[str | None]]"

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True)
class Page:
    """A page of an extension, at `/extensions/<extension>/<name>`."""

    name: str
    title: str
    draw: Callable[[ExtensionPage], Awaitable[None]] = field(repr=False)
    icon: str = "extension"
    needs: tuple[Needs, ...] = ()
    navigation: bool = True


@dataclass(frozen=True)
class Action:
    """An action on objects of one kind."""

    extension: str
    kind: type[Any] = field(repr=False)
    name: str
    title: str
    run: Callable[[ActionContext[Any]], Awaitable[str | None]] = field(repr=False)
    icon: str = "bolt"
    needs: tuple[Needs, ...] = ()
    confirm: str = ""
    type_name: bool = False
    when: Callable[[Any], bool] | None = field(default=None, repr=False)

    @property
    def id(self) -> str:
        """The extension and the name, which identify the action."""
        return f"{self.extension}/{self.name}"


class Extension:
    """Pages and actions that a console shows beside its own. See the package for the contract.

    Args:
        name: a DNS label, which is part of URLs and of audit records.
        title: the heading in the navigation. Default: the name.
    """

    def __init__(self, name: str, *, title: str = "") -> None:
        self.name = _check_name("the name of an Extension", name)
        self.title = title or name
        self.pages: dict[str, Page] = {}
        """The pages by name."""
        self.actions: list[Action] = []

    def page(
        self, name: str, *, title: str, icon: str = "extension", needs: NeedsLike = (), navigation: bool = True
    ) -> Callable[[DrawT], DrawT]:
        """Registers a function that draws a page at `/extensions/<extension>/<name>` and below.

        Args:
            name: a DNS label, the last part of the URL.
            title: the title of the page, and of its link in the navigation.
            icon: a name of Material Icons.
            needs: permissions that the page requires in the chosen namespace. A viewer who lacks one sees its name
                instead of the page. If all namespaces are chosen, `list` in one of them is sufficient.
            navigation: whether the navigation links to the page. Set it to False for pages about one object.
        """
        _check_name("the name of a page", name)
        if name in self.pages:
            raise ValueError(f"extension {self.name} already has a page {name!r}")
        wanted = needs_of(needs)
        if any(one.kind is None for one in wanted):
            raise ValueError(f'each need of page {name!r} must name its kind, such as Needs("list", Foo)')

        def decorate(draw: DrawT) -> DrawT:
            _check_async("page", name, draw)
            self.pages[name] = Page(name, check_string("title", title, "Ships"), draw, icon, wanted, navigation)
            return draw

        return decorate

    def action(
        self,
        kind: type[T],
        name: str,
        *,
        title: str,
        icon: str = "bolt",
        needs: NeedsLike = "patch",
        confirm: str = "",
        type_name: bool = False,
        when: Callable[[T], bool] | None = None,
    ) -> Callable[[Run[T]], Run[T]]:
        """Registers an action on objects of a kind. The object's page shows it in its menu of actions.

        The console asks for confirmation, reads the object again with the viewer's credentials, checks its UID and
        `needs`, and calls the function. The function has 60 seconds. Its result is shown to the viewer, and the action
        is part of the audit log.

        Args:
            kind: the class of the kind.
            name: a DNS label.
            title: the entry in the menu, and the button that confirms.
            icon: a name of Material Icons.
            needs: the permissions that the action requires in the object's namespace. Name every verb that the function
                uses, also of other systems: a read-only console disables actions that need a verb that writes.
            confirm: what the action does, in one or two sentences.
            type_name: whether the viewer must type the name of the object.
            when: whether the action applies to an object. Default: always.
        """
        _check_name("the name of an action", name)
        path = path_of(kind)
        if any(one.name == name and path_of(one.kind) == path for one in self.actions):
            raise ValueError(f"extension {self.name} already has an action {name!r} on {path}")
        wanted = needs_of(needs)
        if not wanted:
            raise ValueError(f"action {name!r} needs at least one permission, such as needs='patch'")

        def decorate(run: Run[T]) -> Run[T]:
            _check_async("action", name, run)
            shown = check_string("title", title, "Refit")
            self.actions.append(Action(self.name, kind, name, shown, run, icon, wanted, confirm, type_name, when))
            return run

        return decorate

    def actions_of(self, path: str) -> list[Action]:
        """Returns the actions on a kind, by its path: `example.com/foos`."""
        return [action for action in self.actions if path_of(action.kind) == path]

    def __repr__(self) -> str:
        return f"<Extension {self.name}: {counted(len(self.pages), 'page')}, {counted(len(self.actions), 'action')}>"


def _check_name(what: str, name: str) -> str:
    if not _NAME.fullmatch(check_string(what, name, "fleet")):
        raise ValueError(f"{what} must consist of lowercase letters, digits and '-', such as fleet, not {name!r}")
    return name


def _check_async(what: str, name: str, function: object) -> None:
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"{what} {name!r} must be an async function: `async def {name.replace('-', '_')}(...)`")
