"""States of a page that has nothing else to show: what is the matter, and what to do."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from nicegui import ui

from kubewright.cache import CacheSyncError
from kubewright.client import ApiError, Forbidden, NotFound, Timeout, Unauthorized, Unavailable
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import kind_address
from kubewright.console.pages.widgets import command, icon, link

__all__ = ["AccessDenied", "KindNotFound", "Problem", "draw", "problem_of", "similar_kinds"]

logger = logging.getLogger("kubewright.console")

_RETRY_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Problem:
    """What is shown instead of a page."""

    icon: str
    title: str
    text: str
    commands: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    """Texts and addresses of where to go instead."""
    passes: bool = False
    """Whether it may pass: the page is then tried again by itself."""


class KindNotFound(LookupError):
    """The cluster serves no kind of this path; `similar_kinds` are those with a similar name."""

    def __init__(self, path: str, kinds: Sequence[Kind]) -> None:
        self.path = path
        self.similar_kinds = similar_kinds(path, kinds)
        super().__init__(f"no kind {path}")


class AccessDenied(PermissionError):
    """The viewer may not do this with a kind; `revoked`: he could until a moment ago, while he looked."""

    def __init__(self, verb: str, kind: Kind, viewer: str, namespace: str = "", *, revoked: bool = False) -> None:
        self.verb, self.kind, self.viewer, self.namespace = verb, kind, viewer, namespace
        self.revoked = revoked
        super().__init__(f"{viewer} may not {verb} {kind.plural}")


def similar_kinds(path: str, kinds: Sequence[Kind]) -> list[Kind]:
    """The kinds whose path, plural, singular or short name is like this one."""
    names: dict[str, Kind] = {}
    for kind in kinds:
        for name in (kind.path, kind.plural, kind.singular, kind.kind.lower(), *kind.short_names):
            names.setdefault(name.lower(), kind)
    wanted = path.lower()
    found = [*get_close_matches(wanted, names, 5, 0.7), *get_close_matches(wanted.rpartition("/")[2], names, 5, 0.7)]
    return [*dict.fromkeys(names[name] for name in found)][:5]


def problem_of(error: BaseException) -> Problem:
    """What an error means for whoever looks."""
    if isinstance(error, KindNotFound):
        return Problem(
            "search_off",
            f"This cluster has no kind {error.path}",
            "It may have been removed, or its name may be misspelled. Did you mean one of these?"
            if error.similar_kinds
            else "It may have been removed, or its name may be misspelled.",
            ["kubectl api-resources"],
            [(str(kind), kind_address(kind.path)) for kind in error.similar_kinds],
        )
    if isinstance(error, AccessDenied):
        where = f" --namespace {error.namespace}" if error.namespace else ""
        resource = f"{error.kind.plural}.{error.kind.group}" if error.kind.group else error.kind.plural
        place = f" in namespace {error.namespace}" if error.namespace else ""
        needed = (
            f"{error.viewer} needs the verb “{error.verb}” on {resource}. Ask whoever grants roles in this cluster."
        )
        if error.revoked:
            needed = (
                f"The API server refuses it now: the right was taken away while you looked. {needed}\n"
                "What may be seen comes back by itself when the right does."
            )
        return Problem(
            "lock",
            f"You may not {error.verb} {resource}{place}{' any more' if error.revoked else ''}",
            needed,
            [f"kubectl auth can-i {error.verb} {resource}{where}"],
        )
    if isinstance(error, Forbidden):
        return Problem(
            "lock",
            "The API server forbids this",
            f"{error.status.message or error}\nAsk whoever grants roles in this cluster for the verb that it names.",
            ["kubectl auth can-i --list"],
        )
    if isinstance(error, Unauthorized):
        return Problem(
            "key_off",
            "The API server does not know you any more",
            "Your credentials may have expired. Sign in again.",
            links=[("Sign in", "/sign-in")],
        )
    if isinstance(error, CacheSyncError) and any("forbidden" in reason for reason in error.reasons.values()):
        reasons = "\n".join(error.reasons.values())
        return Problem("lock", "The console itself may not read this", f"{reasons}\nGrant its account list and watch.")
    if isinstance(error, Unavailable | Timeout | CacheSyncError | ConnectionError | TimeoutError):
        return Problem(
            "cloud_off",
            "The API server does not answer",
            f"{error}\nThis page tries again by itself.",
            ["kubectl get --raw /readyz"],
            passes=True,
        )
    if isinstance(error, NotFound):
        return Problem("search_off", "It is not there", f"{error.status.message or error}")
    if isinstance(error, ApiError):
        return Problem("error", "The API server refused", str(error))
    logger.error("a page failed", exc_info=error)
    return Problem(
        "error",
        "This page failed",
        f"{type(error).__name__}. That is a bug of the console, not of your cluster; its log has the details.",
    )


def draw(problem: Problem | BaseException) -> None:
    """Show a problem, in the middle of a page. One that may pass is tried again by itself."""
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
    if shown.passes:
        ui.timer(_RETRY_SECONDS, ui.navigate.reload, once=True)
