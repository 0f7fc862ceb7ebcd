"""The YAML reader: Kubernetes' values, bounds, and errors that name the position."""

from __future__ import annotations

import math
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.yaml import (
    MAX_DEPTH,
    InvalidYAML,
    compose_yaml,
    duplicate_keys,
    load_yaml,
    load_yaml_documents,
    load_yaml_in_turns,
    plain_value,
)

json_values: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(json_values)
def test_reads_back_what_a_dumper_writes(value: Any) -> None:
    assert load_yaml(yaml.safe_dump(value, default_style='"')) == value


@settings(deadline=None)
@given(st.text() | st.binary())
def test_refuses_anything_else_with_its_own_error(text: str | bytes) -> None:
    with suppress(InvalidYAML):
        load_yaml_documents(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("y", True),
        ("Off", False),
        ("yEs", "yEs"),
        ("~", None),
        ("012", 10),
        ("0o12", 10),
        ("0x1F", 31),
        ("-0b11", -3),
        ("08", 8),
        ("1_000", 1000),
        ("1e3", 1000),
        (".5", 0.5),
        ("+.5", 0.5),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("=", "="),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", 9223372036854775808.0),
        ("0xffffffffffffffff", 18446744073709551615.0),
        ("0xfffffffffffffffff", "0xfffffffffffffffff"),
        ("18446744073709551616", 18446744073709551616.0),
        ("9999999999999999999999999", 1e25),
        ("1e999", "1e999"),
        ("9" * 5000, "9" * 5000),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!float 1", 1),
        ("!!binary aGVsbG8=", "hello"),
    ],
)
def test_scalars_have_the_values_that_kubernetes_gives_them(text: str, value: object) -> None:
    read = load_yaml(f"a: {text}")["a"]
    assert read == value
    assert type(read) is type(value)


def test_keys_become_strings() -> None:
    assert load_yaml("{1: a, true: b, 1.5: c, x: d}") == {"1": "a", "true": "b", "1.5": "c", "x": "d"}


def test_aliases_are_copies() -> None:
    value = load_yaml("a: &a {x: [1]}\nb: *a")
    value["a"]["x"].append(2)
    assert value["b"] == {"x": [1]}


def test_merge_keys_add_missing_members() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], z: 3}\nd: {'<<': 1}"
    value = load_yaml(text.replace("y:", "'y':"))
    assert value["c"] == {"x": 1, "y": 1, "z": 3}
    assert value["d"] == {"<<": 1}


def test_first_only_leaves_the_rest_unread() -> None:
    assert load_yaml("a: 1\n---\nb: [", first_only=True) == {"a": 1}


def test_several_documents_are_read_in_order() -> None:
    assert load_yaml_documents("a: 1\n---\n---\n- 2\n") == [{"a": 1}, None, [2]]
    assert load_yaml_documents("") == []
    assert load_yaml("# nothing") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "line 2, column 1: did not find expected node content"),
        ("a: 1\n---\nb: 2", "line 2, column 1: a second document"),
        ("a: *b", "line 1, column 4: an alias of an anchor that the document does not define"),
        ("a: &a [*a]", "line 1, column 8: an anchor whose value contains itself"),
        ("a: .nan", "line 1, column 4: unsupported value: NaN"),
        ("a: -.inf", "line 1, column 4: unsupported value: -Inf"),
        ("? [a]\n: b", "line 1, column 1: a key that is not a string"),
        ("~: b", "line 1, column 1: a key that is not a string"),
        ("a: !!python/object/apply:os.system [x]", "a tag that JSON has no value for"),
        ("a: !!python/name:os.system x", "a tag that JSON has no value for"),
        ("a: !!set {b}", "a tag that JSON has no value for"),
        ("a: !!int b", "a value that is not a !!int"),
        ("<<: 1", "<< merges something that is not a map"),
        ("a: \0", "control characters are not allowed"),
        ("a: \ud800", "half of a surrogate pair"),
        (b"a: \xff", "not UTF-8 at byte 3"),
    ],
)
def test_refuses_with_the_position(text: str | bytes, problem: str) -> None:
    with pytest.raises(InvalidYAML) as refused:
        load_yaml(text)
    assert problem in str(refused.value)


def test_errors_do_not_quote_the_document() -> None:
    for text in ("token: s3cret\n bad: [", "token: *s3cret", "token: !s3cret x", "s3cret: !!int s3cret", "a: 's3cret"):
        with pytest.raises(InvalidYAML) as refused:
            load_yaml(text)
        assert "s3cret" not in str(refused.value)


def test_keys_that_are_set_twice_are_found() -> None:
    text = "a: 1\nb:\n- {c: 1, c: 2}\na: 2\n"
    assert load_yaml(text) == {"a": 2, "b": [{"c": 2}]}
    assert duplicate_keys(text) == [
        'line 3: key "c" already set in map',
        'line 4: key "a" already set in map',
    ]
    with pytest.raises(InvalidYAML, match="line 3, column 1: the key c is set twice"):
        load_yaml(text, unique_keys=True)


def test_literal_keys_refuses_keys_that_yaml_changes() -> None:
    assert load_yaml_documents("80: a", literal_keys=True) == [{"80": "a"}]
    with pytest.raises(InvalidYAML, match="YAML reads the key on as true: write it in quotes"):
        load_yaml_documents("on: a", literal_keys=True)


def test_strings_only_leaves_every_scalar_a_string() -> None:
    assert load_yaml("a: [1, yes, 0123, ~]", strings_only=True) == {"a": ["1", "yes", "0123", "~"]}


def test_nodes_have_positions_in_the_text() -> None:
    node = compose_yaml("a: 1\nb: [x, y]\n")
    (_, _), (key, value) = node.value
    assert (key.value, key.start_mark.line, value.flow_style) == ("b", 1, True)
    assert value.value[1].start_mark.index == 12
    assert compose_yaml("") is None


def test_plain_value_is_what_an_unquoted_scalar_means() -> None:
    assert plain_value("no") is False
    assert plain_value("") is None
    assert plain_value("node") == "node"
    assert math.isinf(plain_value(".inf"))  # type: ignore[arg-type]


def layers(count: int) -> str:
    return "a0: &a0 [x]\n" + "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, count))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- " * 100_000, "nested more than 200 levels"),
        ("[" * 1_000_000, "nested more than 200 levels"),
        ("{a: " * 500_000, "nested more than 200 levels"),
        ("? " * 500_000, "nested more than 200 levels"),
        ("a0: &a0 [x]\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 20_000)), "nested more than 200"),
        (layers(12), "more than 1000000 values once its aliases are expanded"),
        ("".join(f"%TAG !a{n}! x\n" for n in range(50_000)), "lines that begin with %"),
    ],
    ids=["dashes", "brackets", "maps", "keys", "alias chain", "alias tree", "directives"],
)
def test_rejects_hostile_documents(text: str, problem: str) -> None:
    """In a child with little memory: without the bounds, the first ones crash the process."""
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        "from kubewright.yaml import InvalidYAML, load_yaml, compose_yaml\n"
        "text = sys.stdin.read()\n"
        "for read in (load_yaml, compose_yaml):\n"
        "    try:\n"
        "        read(text)\n"
        "    except InvalidYAML as error:\n"
        "        print(error)\n"
    )
    child = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True)
    assert child.returncode == 0, (child.returncode, child.stderr[-2000:])
    assert [problem in line for line in child.stdout.splitlines()] == [True, True]


def test_depth_and_size_are_bounded_exactly() -> None:
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    load_yaml(deepest)
    with pytest.raises(InvalidYAML, match="nested more than 200 levels deep"):
        load_yaml(f"[{deepest}]")
    with pytest.raises(InvalidYAML, match="nested more than 3 levels deep"):
        load_yaml("[[[[]]]]", max_depth=3)
    assert load_yaml("[a, b]", max_nodes=3) == ["a", "b"]
    with pytest.raises(InvalidYAML, match="more than 2 values"):
        load_yaml("[a, b]", max_nodes=2)
    with pytest.raises(InvalidYAML, match="larger than 5 bytes"):
        load_yaml("[a, b]", max_size=5)


# Turns


async def test_reads_in_turns_what_it_reads_at_once() -> None:
    text = "list:\n" + "".join(f"- {{name: n{number}, value: {number}}}\n" for number in range(5_000))
    turns = 0

    async def next_turn() -> None:
        nonlocal turns
        turns += 1

    assert await load_yaml_in_turns(text, next_turn) == load_yaml(text)
    assert turns == 15  # 30,000 events


async def test_reading_in_turns_rejects_what_reading_at_once_rejects() -> None:
    async def next_turn() -> None: ...

    with pytest.raises(InvalidYAML, match="nested more than 200 levels deep"):
        await load_yaml_in_turns("[" * 300, next_turn)
    with pytest.raises(InvalidYAML, match="more than 10 values"):
        await load_yaml_in_turns("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]", next_turn, max_nodes=10)
    assert await load_yaml_in_turns("", next_turn) is None
    assert await load_yaml_in_turns("a: 1\n---\nb: 2\n", next_turn, first_only=True) == {"a": 1}
