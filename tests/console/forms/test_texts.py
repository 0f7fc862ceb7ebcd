"""YAML beside the form, and the changes of a write."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.console.forms import (
    MISSING,
    MergeConflict,
    YamlSyntaxError,
    changed_paths,
    diff_yaml,
    edit_yaml,
    form_for,
    merge,
    owners_of,
    ownership_conflicts,
    read_yaml,
    write_yaml,
)
from tests.console.forms.kinds import EVERYTHING, an_object

FORM = form_for("Everything", EVERYTHING, namespaced=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [
        "yes",
        "no",
        "on",
        "y",
        "~",
        "null",
        "1e3",
        "0x1f",
        "012",
        "1:30",
        "2020-01-01",
        "<<",
        "=",
        "- a",
        "a: b",
        "# c",
        "a\nb\n",
    ]
)
json_values: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)  # the machine may be busy
@given(st.dictionaries(texts, json_values, max_size=4))
def test_yaml_round_trips(value: dict[str, Any]) -> None:
    assert (read_yaml(write_yaml(value)) or {}) == value


def test_yaml_keeps_characters_of_all_planes() -> None:
    assert write_yaml({"a": "🎉 日本 é"}) == "a: 🎉 日本 é\n"


def test_yaml_keeps_order() -> None:
    assert write_yaml({"b": 1, "a": {"z": "80", "x": "x\ny\n"}}) == 'b: 1\na:\n  z: "80"\n  x: |\n    x\n    y\n'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: yes", True),
        ("a: 012", 10),
        ("a: 0o12", 10),
        ("a: 1e3", 1000.0),
        ("a: 1:30", "1:30"),
        ("a: 2020-01-01", "2020-01-01"),
        ("a: 0x1F", 31),
        ("a:", None),
    ],
)
def test_reads_yaml_like_kubectl(text: str, value: object) -> None:
    assert read_yaml(text) == {"a": value}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [", 2),
        ("a: 1\na: 2", 2),
        ("a:\n  b: c\n d: e", 3),
        ("a: !!python/object:os.system x", 1),
        ("a: .inf", 1),
    ],
)
def test_rejects_invalid_yaml_with_its_line(text: str, line: int) -> None:
    with pytest.raises(YamlSyntaxError) as refused:
        read_yaml(text)
    assert refused.value.line in (line, line + 1)
    assert f"line {refused.value.line}: " in str(refused.value)


def test_rejects_alias_bomb() -> None:
    layers = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))
    with pytest.raises(YamlSyntaxError, match="more than 200000 values"):
        read_yaml(f"a0: &a0 [x]\n{layers}")


COMMENTED = """\
# the whole
apiVersion: forms.example.com/v1
spec:
  title: one  # its title
  # how many
  size: 3
  tags:
  - a
  nested:
    inner: {}
"""


def test_changed_value_keeps_comments() -> None:
    value = read_yaml(COMMENTED)
    value["spec"]["size"] = 4
    value["spec"]["title"] = "yes"
    text = edit_yaml(COMMENTED, value)
    assert text == COMMENTED.replace("size: 3", "size: 4").replace("one  #", '"yes"  #')


@pytest.mark.promise(
    "Forms of the console",
    "Form and YAML stay in sync; comments are preserved, and invalid YAML is reported with its line.",
)
def test_added_and_removed_fields_keep_comments() -> None:
    value = read_yaml(COMMENTED)
    del value["spec"]["tags"]
    value["spec"]["reason"] = "because"
    text = edit_yaml(COMMENTED, value)
    assert read_yaml(text) == value
    assert "# how many" in text
    assert "# the whole" in text


@pytest.mark.promise(
    "Forms of the console",
    "Form and YAML stay in sync; comments are preserved, and invalid YAML is reported with its line.",
)
@settings(deadline=None)  # the machine may be busy
@given(st.data())
def test_edited_yaml_represents_the_object(data: st.DataObject) -> None:
    value = read_yaml(COMMENTED)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(["title", "size", "tags", "nested", "reason"]))
        made = data.draw(json_values | st.just(MISSING))
        if made is MISSING:
            value["spec"].pop(name, None)
        else:
            value["spec"][name] = made
    assert read_yaml(edit_yaml(COMMENTED, value)) == value


# Diffs


def shown(lines: Any) -> list[str]:
    signs = {"same": " ", "added": "+", "removed": "-", "gap": "~"}
    return [signs[line.kind] + ("*" if line.by_server else "") + line.text for line in lines]


@pytest.mark.promise(
    "Forms of the console",
    "Nothing is written before a server-side dry run has shown the changes, including those of the server.",
)
def test_diff_shows_context_and_server_changes() -> None:
    before = an_object(color="green", enabled=True) | {"status": {"ready": True}}
    wanted = an_object(color="red", enabled=True) | {"status": {"ready": True}}
    after = an_object(color="red", enabled=True, reason="set by a webhook") | {"status": {"ready": True}}
    after["metadata"] = after["metadata"] | {"generation": 2, "resourceVersion": "9", "managedFields": [1]}
    assert shown(diff_yaml(before, wanted, after, context=1)) == [
        "~5 lines",
        " spec:",
        "-  color: green",
        "+  color: red",
        "   enabled: true",
        "+*  reason: set by a webhook",
        "   size: 1",
        "~3 lines",
    ]


def test_diff_of_new_object_is_complete() -> None:
    lines = shown(diff_yaml(None, an_object(), an_object(enabled=True)))
    assert "+*  enabled: true" in lines
    assert "+  size: 1" in lines
    assert len(lines) == 9


def test_diff_of_equal_objects_is_empty() -> None:
    assert diff_yaml(an_object(), an_object(), an_object()) == []


# Merging


@pytest.mark.promise("Forms of the console", "A form never overwrites a change that its user has not seen.")
def test_merges_changes_of_different_fields() -> None:
    base = an_object(ports=[{"name": "a", "number": 1}, {"name": "b", "number": 2}], color="red")
    mine = an_object(ports=[{"name": "a", "number": 9}, {"name": "b", "number": 2}], color="red", size=2)
    theirs = an_object(ports=[{"name": "a", "number": 1}, {"name": "b", "number": 3}, {"name": "c"}])
    merged = merge(base, mine, theirs, FORM)
    assert merged.conflicts == []
    assert merged.value["spec"] == {
        "title": "one",
        "size": 2,
        "ports": [{"name": "a", "number": 9}, {"name": "b", "number": 3}, {"name": "c"}],
    }


def test_conflict_keeps_my_value() -> None:
    merged = merge(an_object(), an_object(size=2), an_object(size=3), FORM)
    assert merged.value["spec"]["size"] == 2
    assert merged.conflicts == [MergeConflict(("spec", "size"), 2, 3)]
    removed = merge(an_object(reason="a"), an_object(), an_object(reason="b"), FORM)
    assert removed.conflicts == [MergeConflict(("spec", "reason"), MISSING, "b")]


@settings(deadline=None)  # the machine may be busy
@given(json_values, json_values)
def test_merge_with_unchanged_object_is_mine(base: Any, mine: Any) -> None:
    assert merge(base, mine, base, FORM).value == mine
    assert merge(base, base, mine, FORM).value == mine


def test_distinguishes_true_from_one() -> None:
    assert changed_paths({"a": True}, {"a": 1}) == [("a",)]


def test_matches_list_elements_by_key() -> None:
    before = an_object(ports=[{"name": "a"}, {"name": "b", "number": 1}], tags=["x", "y"])
    after = an_object(ports=[{"name": "new"}, {"name": "b", "number": 2}], tags=["y", "z"])
    assert changed_paths(before, after, form=FORM) == [
        ("spec", "ports", 0),
        ("spec", "ports", 1, "number"),
        ("spec", "ports", 2),
        ("spec", "tags", 0),
        ("spec", "tags", 2),
    ]
    assert changed_paths(before, after) == [
        ("spec", "ports", 0, "name"),
        ("spec", "ports", 1, "number"),
        ("spec", "tags", 0),
        ("spec", "tags", 1),
    ]
    turned = an_object(ports=[{"name": "b", "number": 1}, {"name": "a"}], tags=["x", "y"])
    assert changed_paths(before, turned, form=FORM) == [("spec", "ports")]


# Owners


def owned(**fields: Any) -> dict[str, Any]:
    entry = {"manager": "gitops", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": fields}}
    value = an_object(ports=[{"name": "web", "number": 80}], tags=["a"], limits={"a.b/c": 1})
    value["metadata"]["managedFields"] = [entry]
    return value


@pytest.mark.promise(
    "Forms of the console",
    "Other owners of a field are shown before it is taken over, which requires confirmation.",
)
def test_finds_owners_by_field_key_value_and_atomic_parent() -> None:
    obj = owned(**{"f:size": {}, "f:ports": {'k:{"name":"web"}': {".": {}, "f:number": {}}}, "f:tags": {'v:"a"': {}}})
    assert [owner.manager for owner in owners_of(obj, ("spec", "size"))] == ["gitops"]
    assert owners_of(obj, ("spec", "title")) == []
    assert owners_of(obj, ("spec", "ports", 0, "number"))[0].time == "2026-01-01T00:00:00Z"
    assert owners_of(obj, ("spec", "ports", 0, "hosts")) == []
    assert owners_of(obj, ("spec", "tags", 0))
    whole = owned(**{"f:limits": {}})  # the whole map is atomic
    assert owners_of(whole, ("spec", "limits", "a.b/c"))
    assert owners_of(whole, ("spec", "limits", "new"))
    assert owners_of(obj, ("spec", "ports", 1)) == []  # another element of the list


def test_one_shot_managers_and_the_console_do_not_conflict() -> None:
    obj = owned(**{"f:size": {}})
    entry = obj["metadata"]["managedFields"][0]
    assert [owner.manager for owner in ownership_conflicts(obj, [("spec", "size")])] == ["gitops"]
    entry["manager"], entry["operation"] = "kubectl-edit", "Update"
    assert ownership_conflicts(obj, [("spec", "size")]) == []
    entry["manager"] = "kubewright-console"
    assert ownership_conflicts(obj, [("spec", "size")]) == []
    entry["manager"], entry["subresource"] = "operator", "status"
    assert ownership_conflicts(obj, [("spec", "size")]) == []
