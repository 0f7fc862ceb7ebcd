"""Comparable worlds: what is ignored, what is masked, what differs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kubewright.api import core
from kubewright.explore.model import Write
from kubewright.explore.worlds import Masks, TooManyMasks, canonical, differences, learn, scrubbed, unlike
from kubewright.operator import Operator

KEY = ("configmaps", "default", "web")


def written(key: tuple[str, str, str], obj: dict[str, Any], actor: str = "operator") -> Write:
    return Write(0, 0, actor, "create", *key, None, msgspec.json.encode(obj))


def config(name: str = "web", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": name * 3, "resourceVersion": "7"}, "data": data}


def world(**data: str) -> Any:
    obj = config(**data)
    return canonical({KEY: obj}, [written(KEY, obj)])


def test_ignores_versions_times_and_uids() -> None:
    one = world(at="2030-01-01T00:00:00Z", owner="a3bb189e-8bf9-3888-9912-ace4e6543002", note="on 2030-01-01")
    other = world(at="2031-05-07T10:11:12Z", owner="16fd2706-8baf-433b-82eb-8c7fada847da", note="on 2031-05-07")
    assert one == other


def test_leaves_out_objects_of_controllers() -> None:
    pod = ("pods", "default", "web-1")
    assert canonical({pod: config("web-1")}, [written(pod, config("web-1"), actor="")]) == {}


def test_leaves_out_a_pod_that_a_controller_has_replaced() -> None:
    pod, obj = ("pods", "default", "web-1"), config("web-1")
    created = written(pod, obj, actor="")
    deleted = msgspec.structs.replace(created, verb="delete", actor="operator", before=created.after)
    assert canonical({pod: obj}, [created, deleted, created]) == {}


def test_replaces_generated_names_everywhere() -> None:
    def made(suffix: str) -> Any:
        child = config(f"web-{suffix}", a="1")
        child["metadata"]["generateName"] = "web-"
        key, parent = ("configmaps", "default", f"web-{suffix}"), config("parent", child=f"web-{suffix}")
        home = ("sites.example.com", "default", "parent")
        return canonical({key: child, home: parent}, [written(key, child), written(home, parent)])

    assert list(made("x7x7x")) == [("sites.example.com", "default", "parent"), ("configmaps", "default", "web-*#1")]
    assert differences(made("x7x7x"), made("q9q9q"), Masks()) == []


def test_masks_leaf_fields_that_differ_between_undisturbed_runs() -> None:
    masks = learn([world(password="a", user="u"), world(password="b", user="u")])
    assert masks.lines() == ["configmaps /data/password"]
    assert differences(world(password="a", user="u"), world(password="c", user="u"), masks) == []
    found = differences(world(password="a", user="u"), world(password="c", user="w"), masks)
    assert [str(each) for each in found] == ["configmaps default/web: /data/user is 'w', expected 'u'"]


def test_exempts_objects_by_name() -> None:
    operator = Operator("exempt")
    operator.exempt(core.Secret, name="*.credentials", reason="users may read it after a deletion")
    masks = Masks(exempt=tuple(operator.exemptions))
    mine, other = ("secrets", "default", "web.credentials"), ("secrets", "default", "web.tls")
    assert masks.hides_object(mine)
    assert masks.exempts(mine, ("data", "password"))
    assert not masks.hides_object(other)
    assert not masks.exempts(other, ("data", "password"))
    assert masks.lines() == ["secrets *.credentials: users may read it after a deletion (exempt)"]


def test_compares_addresses_unless_undisturbed_runs_differ_in_them() -> None:
    one, other = world(host="10.96.0.7", peer="10.244.0.3"), world(host="10.96.0.8", peer="10.244.0.3")
    assert [each.path for each in differences(one, other, Masks())] == ["/data/host"]
    assert differences(one, other, learn([one, world(host="10.97.0.7", peer="10.244.0.3")])) == []


def test_rejects_too_many_masks() -> None:
    worlds = [world(**{f"field{number}": f"{turn}" for number in range(100)}) for turn in range(2)]
    with pytest.raises(TooManyMasks, match="undisturbed runs differ in 100 fields"):
        learn(worlds)


def test_reports_missing_and_additional_objects() -> None:
    assert [str(each) for each in differences(world(), {}, Masks())] == ["configmaps default/web is missing"]
    assert [str(each) for each in differences({}, world(), Masks())] == [
        "configmaps default/web exists, but should not"
    ]


def test_states_at_different_ages_are_not_compared_if_the_operator_acts_in_between() -> None:
    masks = Masks(ages=(600.0,))
    assert masks.ages_apart(305, 3905)
    assert not masks.ages_apart(305, 500)
    assert not masks.ages_apart(3900, 3910)
    assert not Masks().ages_apart(305, 3905)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"metadata": {}}),
        ({"metadata": {"resourceVersion": "1", "name": "a"}}, {"metadata": {"resourceVersion": "2", "name": "a"}}),
        ({"metadata": {"resourceVersion": "1"}}, {}),
        ({"at": "2030-01-01T00:00:00Z", "items": [1, "2"]}, {"at": "2031-01-01T00:00:00Z", "items": [1, "2"]}),
        ({"items": ["2030-01-01T00:00:00Z"]}, {"items": ["2031-01-01T00:00:00Z"]}),
        ({"items": [1]}, {"items": [2]}),
        ({"a": None}, {}),
        ({"a": {"b": 1}}, {"a": 1}),
        ({"a": 1_700_000_000}, {"a": 1_800_000_000}),
    ],
)
def test_compares_objects_without_times_and_versions(one: Any, other: Any) -> None:
    assert unlike(one, other) == (scrubbed(one) != scrubbed(other))
    assert unlike(other, one) == unlike(one, other)


def test_empty_values_in_a_status_equal_missing_ones() -> None:
    sites = ("sites.example.com", "default", "web")
    filled, missing = (
        {
            "metadata": {"name": "web"},
            "spec": {"url": ""},
            "status": {"url": "", "count": 0, "items": [], "at": {"x": ""}},
        },
        {"metadata": {"name": "web"}, "spec": {"url": ""}},
    )
    worlds = [canonical({sites: each}, [written(sites, each)]) for each in (filled, missing)]
    assert worlds[0] == worlds[1]
    assert worlds[0][sites]["spec"] == {"url": ""}
