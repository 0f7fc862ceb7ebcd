"""Requests that cannot be parsed get the same answers, word for word, from both servers."""

from __future__ import annotations

import pytest

from kubewright.client import Transport
from tests.cluster.differential.pairs import answer

MAPS = "/api/v1/namespaces/default/configmaps"
HERE = "/api/v1/namespaces/default"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
BODIES = ["{", "[]", '"x"', "7", "true", "", "  ", '{"a":1}x', "x", '{"apiVersion":7}', '{"kind":"Pod"}', "{'a':1}"]
NOT_TOKENS = [
    "x",
    "!!",
    "e30",
    "eA",
    "YWJj!",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
    "eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6ImEifQ",
]
LABELS = [
    *("a in (b", "a=b=c", "-", "a b", "=", "!", "a in", "a in ()", "a in b", "a>b", "a=-b", ",", "a,", "a=!", "(a)"),
    *("a notin (b,,c)", "a in (b c)", "a in (!)", "a==", "!a=b", "!!a", "in in (in)", "a/b/c", "x" * 64),
    f"a={'b' * 64}",
]
FIELDS = ["a===b", "a", r"metadata.name=a\b", "=a", "metadata.name=a,b", r"metadata.name=a\,b", "metadata.name!=a"]
TIMEOUTS = ["1x", "x", "1", "-1s", "1h1", ".s", "1.5m", "0", "1s2"]


async def compared(both: tuple[Transport, Transport], method: str, path: str, body: str | None, type_: str) -> None:
    embedded, real = [
        await answer(each, method, path, None if body is None else body.encode(), type_=type_) for each in both
    ]
    assert embedded == real


@pytest.mark.parametrize("body", BODIES)
async def test_bodies(both: tuple[Transport, Transport], body: str) -> None:
    await compared(both, "POST", MAPS, body, "application/json")
    if body.strip():
        await compared(both, "DELETE", f"{MAPS}/none", body, "application/json")


@pytest.mark.parametrize("type_", [MERGE, STRATEGIC, JSON_PATCH])
@pytest.mark.parametrize("body", [*BODIES[:5], "x", "null", "{'a':1}"])
async def test_patches(both: tuple[Transport, Transport], body: str, type_: str) -> None:
    await compared(both, "PATCH", HERE, body, type_)


@pytest.mark.parametrize("body", ["[]", "7", '"x"', "x", "null"])
async def test_applied_configurations(both: tuple[Transport, Transport], body: str) -> None:
    await compared(both, "PATCH", f"{HERE}?fieldManager=a", body, "application/apply-patch+yaml")


@pytest.mark.promise(
    "The embedded cluster", "Invalid selectors and options are refused in the words of a real cluster."
)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("continue", each) for each in NOT_TOKENS),
        *(("labelSelector", each) for each in LABELS),
        *(("fieldSelector", each) for each in FIELDS),
        *(("timeout", each) for each in TIMEOUTS),
    ],
)
async def test_options_of_lists(both: tuple[Transport, Transport], name: str, value: str) -> None:
    await compared(both, "GET", f"{MAPS}?{name}={value}", None, "application/json")


@pytest.mark.parametrize("match", ["Exact", "x"])
async def test_options_of_watches(both: tuple[Transport, Transport], match: str) -> None:
    await compared(both, "GET", f"{MAPS}?watch=true&resourceVersionMatch={match}", None, "application/json")


async def test_names_of_managers_are_quoted_as_in_go(both: tuple[Transport, Transport]) -> None:
    body = '{"metadata":{"name":"a"}}'
    await compared(both, "POST", f"{MAPS}?dryRun=All&fieldManager=\x07\u00e9\x7f\n", body, "application/json")
