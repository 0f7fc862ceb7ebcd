"""Addresses of lists and objects, names of kinds, and problems."""

from __future__ import annotations

import pytest

from kubewright.api import Untyped
from kubewright.cache import CacheSyncError
from kubewright.client import Forbidden, NotFound, Status, Timeout, Unauthorized, Unavailable
from kubewright.console import Kind
from kubewright.console.kinds import custom_printer

# private: pure functions, tested without a browser
from kubewright.console.pages._addresses import ListView, kind_address, kind_named, object_address, search_address

# private: pure functions, tested without a browser
from kubewright.console.pages._problems import AccessDenied, KindNotFound, problem_of, similar_kinds
from kubewright.console.pages.lists._grid import columns_of  # private: a pure function, tested without a browser


def kind(group: str, name: str, plural: str, *short: str, columns: list[dict[str, object]] | None = None) -> Kind:
    resource = Untyped.kind_of(f"{group}/v1" if group else "v1", name, plural=plural, namespaced=True)
    crd: dict[str, object] | None = {"spec": {}} if "." in group else None
    printer = custom_printer(columns or [])
    return Kind(group, "v1", name, plural, name.lower(), True, resource, short, crd=crd, printer=printer)


FOO = kind("example.com", "Foo", "foos", "fo")
POD = kind("", "Pod", "pods", "po")
EVENT, EVENT_TOO = kind("", "Event", "events", "ev"), kind("example.com", "Event", "events")
KINDS = [FOO, POD, EVENT, EVENT_TOO]


@pytest.mark.promise(
    "Lists and layout of the console",
    "The URL of a list contains filter, labels, order and namespace; sharing it and going back work.",
)
def test_view_round_trips_through_its_url() -> None:
    assert ListView().address(FOO.path) == "/kinds/example.com/foos"
    view = ListView(namespace="shop", text="a b&c", labels="x=y", sort="-age", wide=True)
    assert view.address(POD.path) == "/kinds/core/pods?namespace=shop&filter=a%20b%26c&labels=x%3Dy&sort=-age&wide=1"
    assert (
        view.replace(text="", labels="", wide=False, sort="name")
        .address(FOO.path)
        .endswith("?namespace=shop&sort=name")
    )


def test_quotes_parts_of_object_paths() -> None:
    assert object_address(FOO.path, "shop", "one") == "/objects/example.com/foos/shop/one"
    assert object_address("core/nodes", "", "a/b?c#d") == "/objects/core/nodes/-/a%2Fb%3Fc%23d"
    assert kind_address("<b>/c") == "/kinds/%3Cb%3E/c"


@pytest.mark.parametrize("text", ["foo", "Foo", "foos", "FO", "example.com/foos", "foos.example.com"])
def test_finds_kind_by_any_name(text: str) -> None:
    assert kind_named(KINDS, text) is FOO
    assert search_address(KINDS, text) == "/kinds/example.com/foos"


def test_custom_resources_take_precedence_over_built_in_kinds() -> None:
    assert kind_named(KINDS, "events") is EVENT_TOO
    assert kind_named(KINDS, "ev") is EVENT


def test_other_searches_lead_to_results() -> None:
    assert search_address(KINDS, "need le") == "/search?q=need%20le"


def test_suggests_similar_kinds() -> None:
    assert similar_kinds("example.com/fos", KINDS)[0] == FOO
    assert similar_kinds("core/pds", KINDS) == [POD]
    assert similar_kinds("zebra.io/zebras", KINDS) == []


def test_list_has_state_definition_columns_and_age() -> None:
    defined: list[dict[str, object]] = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Until", "type": "date", "jsonPath": ".spec.until", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    columns = columns_of(kind("example.com", "Foo", "foos", columns=defined))
    assert [one["name"] for one in columns] == ["Name", "Namespace", "State", "Size", "Until", "Message", "Age"]
    assert [one["type"] for one in columns] == ["name", "text", "state", "number", "date", "text", "date"]
    assert [one["name"] for one in columns if one.get("wide")] == ["Until"]


def status(code: int, message: str = "the server's words") -> Status:
    return Status(code=code, message=message)


def test_missing_kind_suggests_similar_ones() -> None:
    problem = problem_of(KindNotFound("example.com/fos", KINDS))
    assert problem.title == "This cluster has no kind example.com/fos"
    assert problem.links[0] == ("Foo.example.com", "/kinds/example.com/foos")


@pytest.mark.promise(
    "Lists and layout of the console",
    "Empty lists, missing kinds and denied access explain what to do.",
)
def test_denied_access_names_the_verb() -> None:
    problem = problem_of(AccessDenied("list", FOO, "jane", "shop"))
    assert problem.title == "You may not list foos.example.com in namespace shop"
    assert "jane needs the verb “list” on foos.example.com" in problem.text
    assert problem.commands == ["kubectl auth can-i list foos.example.com --namespace shop"]
    assert not problem.is_temporary


@pytest.mark.parametrize(
    "error",
    [
        Unavailable(status(503), "list"),
        Timeout(status(504), "list"),
        CacheSyncError(10, {"Foo": "the server cannot be reached"}),
        ConnectionRefusedError(),
    ],
)
def test_unavailable_server_is_temporary(error: Exception) -> None:
    problem = problem_of(error)
    assert problem.title == "The API server does not answer"
    assert problem.is_temporary


@pytest.mark.parametrize(
    ("error", "title"),
    [
        (Forbidden(status(403), "list"), "The API server denied access"),
        (Unauthorized(status(401), "list"), "The API server no longer accepts your credentials"),
        (NotFound(status(404), "get"), "Not found"),
        (
            CacheSyncError(10, {"Foo": "the verb 'list' on foos is forbidden"}),
            "The console's own account may not read this",
        ),
    ],
)
def test_rejections_have_titles_and_are_permanent(error: Exception, title: str) -> None:
    problem = problem_of(error)
    assert problem.title == title
    assert not problem.is_temporary


def test_bug_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    problem = problem_of(KeyError("a secret"))
    assert problem.title == "This page failed"
    assert "secret" not in problem.text
    assert "a page of the console failed" in caplog.text
