"""Problems that the console shows instead of a page, with the fix."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from nicegui import ui

from kubewright.cache import CacheSyncError
from kubewright.client import ApiError, Forbidden, NotFound, Timeout, Unauthorized, Unavailable
from kubewright.console._scope import BACKEND
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import kind_address
from kubewright.console.pages.widgets import command, icon, link

__all__ = ["AccessDenied", "KindNotFound", "Problem", "draw", "problem_of", "similar_kinds"]

logger = logging.getLogger("kubewright.console")

_RETRY_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Problem:
    """A problem that replaces a page."""

    icon: str
    title: str
    text: str
    commands: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    """Titles and paths of links to alternatives."""
    is_temporary: bool = False
    """Whether the problem may be temporary. If so, the page reloads by itself."""


class KindNotFound(LookupError):
    """The cluster does not serve this kind. `similar_kinds` have a similar name."""

    def __init__(self, path: str, kinds: Sequence[Kind]) -> None:
        self.path = path
        self.similar_kinds = similar_kinds(path, kinds)
        super().__init__(f"kind not found: {path}")


class AccessDenied(PermissionError):
    """The viewer lacks a permission on a kind. `revoked`: it was revoked while the page was open."""

    def __init__(self, verb: str, kind: Kind, viewer: str, namespace: str = "", *, revoked: bool = False) -> None:
        self.verb, self.kind, self.viewer, self.namespace = verb, kind, viewer, namespace
        self.revoked = revoked
        super().__init__(f"{viewer} may not {verb} {kind.plural}")


def similar_kinds(path: str, kinds: Sequence[Kind]) -> list[Kind]:
    """Returns the kinds whose path, plural, singular or short name is similar."""
    names: dict[str, Kind] = {}
    for kind in kinds:
        for name in (kind.path, kind.plural, kind.singular, kind.kind.lower(), *kind.short_names):
            names.setdefault(name.lower(), kind)
    wanted = path.lower()
    found = [*get_close_matches(wanted, names, 5, 0.7), *get_close_matches(wanted.rpartition("/")[2], names, 5, 0.7)]
    return [*dict.fromkeys(names[name] for name in found)][:5]


def problem_of(error: BaseException) -> Problem:
    """Returns the problem to show for an exception."""
    if isinstance(error, KindNotFound):
        return Problem(
            "search_off",
            f"This cluster has no kind {error.path}",
            "It may have been removed, or the name may be misspelled. Did you mean one of these?"
            if error.similar_kinds
            else "It may have been removed, or the name may be misspelled.",
            ["kubectl api-resources"],
            [(str(kind), kind_address(kind.path)) for kind in error.similar_kinds],
        )
    if isinstance(error, AccessDenied):
        where = f" --namespace {error.namespace}" if error.namespace else ""
        resource = f"{error.kind.plural}.{error.kind.group}" if error.kind.group else error.kind.plural
        place = f" in namespace {error.namespace}" if error.namespace else ""
        needed = f"{error.viewer} needs the verb “{error.verb}” on {resource}. Ask a cluster administrator to grant it."
        if error.revoked:
            needed = (
                f"The permission was revoked while this page was open. {needed}\n"
                "The list reappears when the permission is granted again."
            )
        return Problem(
            "lock",
            f"You may {'no longer' if error.revoked else 'not'} {error.verb} {resource}{place}",
            needed,
            [f"kubectl auth can-i {error.verb} {resource}{where}"],
        )
    if isinstance(error, Forbidden):
        return Problem(
            "lock",
            "The API server denied access",
            f"{error.status.message or error}\nAsk a cluster administrator to grant the verb that it names.",
            ["kubectl auth can-i --list"],
        )
    if isinstance(error, Unauthorized):
        return Problem(
            "key_off",
            "The API server no longer accepts your credentials",
            "They may have expired. Sign in again.",
            links=[("Sign in", "/sign-in")],
        )
    if isinstance(error, CacheSyncError) and any("forbidden" in reason for reason in error.reasons.values()):
        reasons = "\n".join(error.reasons.values())
        return Problem(
            "lock", "The console's own account may not read this", f"{reasons}\nGrant the account list and watch."
        )
    if isinstance(error, Unavailable | Timeout | CacheSyncError | ConnectionError | TimeoutError):
        return Problem(
            "cloud_off",
            "The API server does not answer",
            f"{error}\nThis page opens when the API server answers again.",
            ["kubectl get --raw /readyz"],
            is_temporary=True,
        )
    if isinstance(error, NotFound):
        return Problem("search_off", "Not found", f"{error.status.message or error}")
    if isinstance(error, ApiError):
        return Problem("error", "The API server returned an error", str(error))
    logger.error("a page of the console failed", exc_info=error)
    return Problem(
        "error",
        "This page failed",
        f"{type(error).__name__}. This is a bug in the console, not in your cluster; see the console's log.",
    )


def draw(problem: Problem | BaseException) -> None:
    """Draws a problem in the middle of the page. If it may be temporary, the page reloads by itself."""
    shown = problem if isinstance(problem, Problem) else problem_of(problem)
    with ui.column().classes("kw-card kw-problem").props("role=alert data-testid=problem"):
        icon(shown.icon).classes("kw-muted")
        with ui.element("h1").classes("kw-problem-title"):
            ui.label(shown.title)
        if shown.text:
            ui.label(shown.text).classes("kw-problem-text")
        if shown.links:
            with ui.element("div").classes("kw-chips"):
                for text, address in shown.links:
                    link(text, address, "kw-chip")
        for line in shown.commands:
            command(line)
        link("All kinds", "/")
    if shown.is_temporary:
        served = ui.context.client.request.scope.get(BACKEND)

        def retry() -> None:
            if served is None or not served[0].connection.lost:
                ui.navigate.reload()

        ui.timer(_RETRY_SECONDS, retry)
