"""Requests that a rule allows, and rules that cover other rules."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.cluster import User
from kubewright.cluster.access import EVERYTHING, AccessRequest, Rule, describe, uncovered

PODS = Rule(verbs=("get", "list"), api_groups=("",), resources=("pods", "*/scale"))


def ask(verb: str, resource: str, *, group: str = "", name: str = "") -> AccessRequest:
    plural, _, part = resource.partition("/")
    return AccessRequest(user=User("jane"), verb=verb, group=group, resource=plural, subresource=part, name=name)


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Rules are matched like on the real server, and its default roles exist from the start.",
)
@pytest.mark.parametrize(
    ("access_request", "allowed"),
    [
        (ask("get", "pods"), True),
        (ask("watch", "pods"), False),
        (ask("get", "pods", group="other"), False),
        (ask("get", "pods/log"), False),
        (ask("get", "anything/scale"), True),
        (ask("get", "anything/upscale"), False),
        (ask("get", "secrets"), False),
        (AccessRequest(user=User("jane"), verb="get", path="/pods"), False),
    ],
)
def test_rule_allows_listed_verbs_and_resources(access_request: AccessRequest, allowed: bool) -> None:
    assert PODS.allows(access_request) is allowed


def test_resource_names_restrict_a_rule() -> None:
    rule = Rule(verbs=("*",), api_groups=("*",), resources=("*",), resource_names=("a",))
    assert rule.allows(ask("get", "pods/log", name="a"))
    assert not rule.allows(ask("get", "pods", name="b"))
    assert not rule.allows(ask("create", "pods"))


@pytest.mark.parametrize(
    ("url", "path", "allowed"),
    [("/a", "/a", True), ("/a", "/a/b", False), ("/a/*", "/a/b/c", True), ("/a/*", "/a", False), ("*", "/x", True)],
)
def test_matches_paths_exactly_or_by_prefix(url: str, path: str, allowed: bool) -> None:
    rule = Rule(verbs=("get",), non_resource_urls=(url,))
    assert rule.allows(AccessRequest(user=User("jane"), verb="get", path=path)) is allowed


def test_only_wildcard_rules_cover_everything() -> None:
    wanted = [PODS, Rule(verbs=("get",), non_resource_urls=("/a",)), *EVERYTHING]
    assert uncovered(EVERYTHING, wanted) == []
    assert uncovered([PODS], [PODS]) == []
    assert len(uncovered([PODS], EVERYTHING)) == 2
    assert uncovered([], []) == []


def test_unrestricted_rule_covers_resource_names_but_not_vice_versa() -> None:
    one = Rule(verbs=("get",), api_groups=("",), resources=("pods",), resource_names=("a",))
    assert uncovered([PODS], [one]) == []
    assert uncovered([one], [Rule(verbs=("get",), api_groups=("",), resources=("pods",))]) != []


def test_describes_missing_permissions_in_one_line_per_resource() -> None:
    wanted = [
        Rule(verbs=("get", "delete", "patch"), api_groups=("",), resources=("pods",)),
        Rule(verbs=("get",), api_groups=("apps",), resources=("deployments",), resource_names=("web",)),
        Rule(verbs=("get",), non_resource_urls=("/a",)),
    ]
    assert describe(uncovered([PODS], wanted)) == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "patch"]}',
        '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["web"], Verbs:["get"]}',
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
    ]


def test_treats_null_in_a_rule_as_empty() -> None:
    rule = Rule(verbs=None, api_groups=None, resources=None, resource_names=None, non_resource_urls=None)
    assert not rule.allows(ask("get", "pods"))
    assert list(rule.parts()) == []


VERBS, GROUPS, RESOURCES, NAMES, URLS = (
    st.lists(st.sampled_from(values), max_size=2).map(tuple)
    for values in (
        ["get", "list", "*"],
        ["", "apps", "*"],
        ["pods", "pods/scale", "*/scale", "*"],
        ["a", "b"],
        ["/a", "/a/b", "/a/*", "/a*", "*"],
    )
)
RULES = st.builds(
    Rule, verbs=VERBS, api_groups=GROUPS, resources=RESOURCES, resource_names=NAMES, non_resource_urls=URLS
)
QUESTIONS = [
    ask(verb, resource, group=group, name=name)
    for verb in ("get", "delete")
    for resource in ("pods", "pods/scale", "secrets", "secrets/scale")
    for group in ("", "apps", "other")
    for name in ("", "a", "c")
] + [AccessRequest(user=User("jane"), verb="get", path=path) for path in ("/a", "/a/b", "/a/b/c", "/ab", "/c")]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(RULES, max_size=3), RULES)
def test_covering_rules_allow_everything_that_a_rule_allows(owned: list[Rule], wanted: Rule) -> None:
    if uncovered(owned, [wanted]):
        return
    for access_request in QUESTIONS:
        assert not wanted.allows(access_request) or any(own.allows(access_request) for own in owned), access_request
