"""What a rule allows, and which rules cover others."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.cluster import User
from kubewright.cluster.access import Question
from kubewright.cluster.access._rules import EVERYTHING, Rule, described, uncovered

PODS = Rule(verbs=("get", "list"), api_groups=("",), resources=("pods", "*/scale"))


def ask(verb: str, resource: str, *, group: str = "", name: str = "") -> Question:
    plural, _, part = resource.partition("/")
    return Question(user=User("jane"), verb=verb, group=group, resource=plural, subresource=part, name=name)


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Rules are matched as the real server does, and its default roles are there from the first moment.",
)
@pytest.mark.parametrize(
    ("question", "allowed"),
    [
        (ask("get", "pods"), True),
        (ask("watch", "pods"), False),
        (ask("get", "pods", group="other"), False),
        (ask("get", "pods/log"), False),
        (ask("get", "anything/scale"), True),
        (ask("get", "anything/upscale"), False),
        (ask("get", "secrets"), False),
        (Question(user=User("jane"), verb="get", path="/pods"), False),
    ],
)
def test_a_rule_allows_what_it_names(question: Question, allowed: bool) -> None:
    assert PODS.allows(question) is allowed


def test_names_limit_a_rule_to_objects_that_are_named() -> None:
    rule = Rule(verbs=("*",), api_groups=("*",), resources=("*",), resource_names=("a",))
    assert rule.allows(ask("get", "pods/log", name="a"))
    assert not rule.allows(ask("get", "pods", name="b"))
    assert not rule.allows(ask("create", "pods"))


@pytest.mark.parametrize(
    ("url", "path", "allowed"),
    [("/a", "/a", True), ("/a", "/a/b", False), ("/a/*", "/a/b/c", True), ("/a/*", "/a", False), ("*", "/x", True)],
)
def test_paths_are_allowed_whole_or_by_their_beginning(url: str, path: str, allowed: bool) -> None:
    rule = Rule(verbs=("get",), non_resource_urls=(url,))
    assert rule.allows(Question(user=User("jane"), verb="get", path=path)) is allowed


def test_everything_covers_everything_and_nothing_else_does() -> None:
    wanted = [PODS, Rule(verbs=("get",), non_resource_urls=("/a",)), *EVERYTHING]
    assert uncovered(EVERYTHING, wanted) == []
    assert uncovered([PODS], [PODS]) == []
    assert len(uncovered([PODS], EVERYTHING)) == 2
    assert uncovered([], []) == []


def test_named_objects_are_covered_by_all_of_them_but_not_the_other_way_round() -> None:
    one = Rule(verbs=("get",), api_groups=("",), resources=("pods",), resource_names=("a",))
    assert uncovered([PODS], [one]) == []
    assert uncovered([one], [Rule(verbs=("get",), api_groups=("",), resources=("pods",))]) != []


def test_what_is_missing_is_told_in_one_line_for_each_resource() -> None:
    wanted = [
        Rule(verbs=("get", "delete", "patch"), api_groups=("",), resources=("pods",)),
        Rule(verbs=("get",), api_groups=("apps",), resources=("deployments",), resource_names=("web",)),
        Rule(verbs=("get",), non_resource_urls=("/a",)),
    ]
    assert described(uncovered([PODS], wanted)) == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "patch"]}',
        '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["web"], Verbs:["get"]}',
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
    ]


def test_null_in_a_rule_is_as_good_as_nothing() -> None:
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
] + [Question(user=User("jane"), verb="get", path=path) for path in ("/a", "/a/b", "/a/b/c", "/ab", "/c")]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(RULES, max_size=3), RULES)
def test_whoever_covers_a_rule_may_do_everything_that_it_allows(owned: list[Rule], wanted: Rule) -> None:
    if uncovered(owned, [wanted]):
        return
    for question in QUESTIONS:
        assert not wanted.allows(question) or any(own.allows(question) for own in owned), question
