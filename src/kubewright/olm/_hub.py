"""Further requirements of OperatorHub.io: a provider, an icon, known capabilities and categories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from kubewright.olm._problems import Level, Problem, problem
from kubewright.olm._read import Bundle

__all__ = ["CAPABILITIES", "CATEGORIES", "check_hub"]

CAPABILITIES: Final = ("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot")
CATEGORIES: Final = (
    "AI/Machine Learning",
    "Application Runtime",
    "Big Data",
    "Cloud Provider",
    "Developer Tools",
    "Database",
    "Integration & Delivery",
    "Logging & Tracing",
    "Modernization & Migration",
    "Monitoring",
    "Networking",
    "OpenShift Optional",
    "Security",
    "Storage",
    "Streaming & Messaging",
    "Observability",
)
_PICTURES: Final = ("image/gif", "image/jpeg", "image/png", "image/svg+xml")
_MAIL: Final = re.compile(r"[^@\s<>]+@[^@\s<>]+")


def check_hub(bundle: Bundle) -> Iterator[Problem]:
    """Returns the problems for which OperatorHub.io rejects a bundle."""
    if not bundle.csv:
        return
    yield from _check_provider(bundle)
    yield from _links(bundle)
    yield from _icon(bundle)
    yield from _words(bundle)
    if not bundle.version or bundle.version == "0.0.0":
        yield _csv_problem(bundle, "spec.version", "it is missing", "set the version")


def _csv_problem(bundle: Bundle, field: str, message: str, advice: str, level: Level = "error") -> Problem:
    return problem(level, bundle.csv_path, message, advice, field=field, check="operatorhub")


def _check_provider(bundle: Bundle) -> Iterator[Problem]:
    if not str((bundle.spec.get("provider") or {}).get("name") or "").strip():
        yield _csv_problem(bundle, "spec.provider.name", "it is missing", "name the provider of the operator")
    for one in bundle.spec.get("maintainers") or []:
        if not one.get("name") or not one.get("email"):
            yield _csv_problem(bundle, "spec.maintainers", "an entry has no name or no email", "give both")
        elif not _MAIL.fullmatch(one["email"]):
            yield _csv_problem(
                bundle, "spec.maintainers", f"{one['email']!r} is not an email address", "use one such as a@example.com"
            )


def _links(bundle: Bundle) -> Iterator[Problem]:
    for one in bundle.spec.get("links") or []:
        if not one.get("name") or not one.get("url"):
            yield _csv_problem(bundle, "spec.links", "an entry has no name or no url", "give both")
        elif not (urlsplit(one["url"]).scheme or one["url"].startswith("/")):
            yield _csv_problem(
                bundle, "spec.links", f"{one['url']!r} is not a URL", "use one such as https://example.com"
            )


def _icon(bundle: Bundle) -> Iterator[Problem]:
    icons = bundle.spec.get("icon")
    if not icons:
        yield _csv_problem(bundle, "spec.icon", "there is no icon", "add one: base64data and mediatype", "warning")
        return
    if len(icons) > 1:
        yield _csv_problem(bundle, "spec.icon", f"there are {len(icons)}", "leave one")
    first = icons[0]
    if not first.get("base64data") or not first.get("mediatype"):
        yield _csv_problem(bundle, "spec.icon", "it lacks base64data or mediatype", "give both")
    elif first["mediatype"] not in _PICTURES:
        yield _csv_problem(
            bundle, "spec.icon", f"{first['mediatype']!r} is not a supported image type", f"use {', '.join(_PICTURES)}"
        )


def _words(bundle: Bundle) -> Iterator[Problem]:
    texts = (bundle.csv.get("metadata") or {}).get("annotations") or {}
    level = texts.get("capabilities")
    if level is not None and level not in CAPABILITIES:
        field = "metadata.annotations[capabilities]"
        yield _csv_problem(bundle, field, f"{level!r} is unknown", f"set one of {', '.join(CAPABILITIES)}")
    for category in (texts.get("categories") or "").split(","):
        if category.strip() and category.strip() not in CATEGORIES:
            field = "metadata.annotations[categories]"
            yield _csv_problem(bundle, field, f"{category.strip()!r} is unknown", f"use {', '.join(CATEGORIES)}")
