"""Addresses of lists and objects, names that kinds go by, and what problems say."""

from __future__ import annotations

import pytest

from kubewright.api import Untyped
from kubewright.cache import CacheSyncError
from kubewright.client import Forbidden, NotFound, Status, Timeout, Unauthorized, Unavailable
from kubewright.console import Kind
from kubewright.console.kinds import custom_printer
from kubewright.console.pages._addresses import ListView, kind_address, kind_named, object_address, search_address
from kubewright.console.pages._problems import AccessDenied, KindNotFound, problem_of, similar_kinds
from kubewright.console.pages.lists._grid import columns_of


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
    "Lists and the look of the console",
    "The address of a list says filter, labels, order and namespace, and shows the same to whoever opens it; going "
    "back works.",
)
def test_a_view_is_an_address() -> None:
    assert ListView().address(FOO.path) == "/kinds/example.com/foos"
    view = ListView(namespace="shop", text="a b&c", labels="x=y", sort="-age", wide=True)
    assert view.address(POD.path) == "/kinds/core/pods?namespace=shop&filter=a%20b%26c&labels=x%3Dy&sort=-age&wide=1"
    assert (
        view.replace(text="", labels="", wide=False, sort="name")
        .address(FOO.path)
        .endswith("?namespace=shop&sort=name")
    )


def test_addresses_of_objects_quote_what_they_are_made_of() -> None:
    assert object_address(FOO.path, "shop", "one") == "/objects/example.com/foos/shop/one"
    assert object_address("core/nodes", "", "a/b?c#d") == "/objects/core/nodes/-/a%2Fb%3Fc%23d"
    assert kind_address("<b>/c") == "/kinds/%3Cb%3E/c"


@pytest.mark.parametrize("text", ["foo", "Foo", "foos", "FO", "example.com/foos", "foos.example.com"])
def test_a_kind_is_found_by_any_of_its_names(text: str) -> None:
    assert kind_named(KINDS, text) is FOO
    assert search_address(KINDS, text) == "/kinds/example.com/foos"


def test_custom_resources_go_before_built_in_kinds_of_the_same_name() -> None:
    assert kind_named(KINDS, "events") is EVENT_TOO
    assert kind_named(KINDS, "ev") is EVENT


def test_a_search_for_anything_else_leads_to_what_is_found() -> None:
    assert search_address(KINDS, "need le") == "/search?q=need%20le"


def test_near_names() -> None:
    assert similar_kinds("example.com/fos", KINDS)[0] == FOO
    assert similar_kinds("core/pds", KINDS) == [POD]
    assert similar_kinds("zebra.io/zebras", KINDS) == []


def test_columns_of_a_list_are_those_of_the_definition_with_state_before_and_age_behind() -> None:
    defined: list[dict[str, object]] = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Until", "type": "date", "jsonPath": ".spec.until", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    columns = columns_of(kind("example.com", "Foo", "foos", columns=defined))
    assert [one["name"] for one in columns] == ["Name", "Namespace", "State", "Size", "Until", "Age"]
    assert [one["type"] for one in columns] == ["name", "text", "state", "number", "date", "date"]
    assert [one["name"] for one in columns if one.get("wide")] == ["Until"]


def status(code: int, message: str = "the server's words") -> Status:
    return Status(code=code, message=message)


def test_a_missing_kind_names_those_that_are_like_it() -> None:
    problem = problem_of(KindNotFound("example.com/fos", KINDS))
    assert problem.title == "This cluster has no kind example.com/fos"
    assert problem.links[0] == ("Foo.example.com", "/kinds/example.com/foos")


@pytest.mark.promise(
    "Lists and the look of the console",
    "Empty lists, kinds that are not there, and refusals say what to do.",
)
def test_who_may_not_is_told_which_verb() -> None:
    problem = problem_of(AccessDenied("list", FOO, "jane", "shop"))
    assert problem.title == "You may not list foos.example.com in namespace shop"
    assert "jane needs the verb “list” on foos.example.com" in problem.text
    assert problem.commands == ["kubectl auth can-i list foos.example.com --namespace shop"]
    assert not problem.passes


@pytest.mark.parametrize(
    "error",
    [
        Unavailable(status(503), "list"),
        Timeout(status(504), "list"),
        CacheSyncError(10, {"Foo": "the server cannot be reached"}),
        ConnectionRefusedError(),
    ],
)
def test_a_server_that_is_away_may_come_back(error: Exception) -> None:
    problem = problem_of(error)
    assert problem.title == "The API server does not answer"
    assert problem.passes


@pytest.mark.parametrize(
    ("error", "title"),
    [
        (Forbidden(status(403), "list"), "The API server forbids this"),
        (Unauthorized(status(401), "list"), "The API server does not know you any more"),
        (NotFound(status(404), "get"), "It is not there"),
        (CacheSyncError(10, {"Foo": "the verb 'list' on foos is forbidden"}), "The console itself may not read this"),
    ],
)
def test_every_refusal_has_a_title_of_its_own_and_does_not_pass(error: Exception, title: str) -> None:
    problem = problem_of(error)
    assert problem.title == title
    assert not problem.passes


def test_a_bug_is_ours_and_its_words_stay_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    problem = problem_of(KeyError("a secret that nobody should see"))
    assert problem.title == "This page failed"
    assert "secret" not in problem.text
    assert "a page failed" in caplog.text
