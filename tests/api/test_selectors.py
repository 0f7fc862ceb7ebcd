"""`selector_cases.json` holds what apimachinery itself answered; the tests here hold the rest of the contract."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.api import FieldRequirement, FieldSelector, Requirement, Selector, SelectorError, SelectorOperator
from kubewright.api.meta.v1 import LabelSelector, LabelSelectorRequirement

CASES: dict[str, Any] = json.loads(Path(__file__).with_name("selector_cases.json").read_text())
LABELS: list[dict[str, str]] = CASES["labels"]
FIELDS: list[dict[str, str]] = CASES["fields"]


def marks(matches: list[bool]) -> str:
    return "".join("1" if match else "0" for match in matches)


class TestLabelSelectors:
    @pytest.mark.promise("Reading the cache", "A selector has the full grammar.")
    @pytest.mark.parametrize(("text", "canonical", "matches"), CASES["label selectors: text, canonical, matches"])
    def test_parses_prints_and_matches_like_apimachinery(self, text: str, canonical: str, matches: str) -> None:
        selector = Selector.parse(text)
        assert str(selector) == canonical
        assert marks([selector.matches(labels) for labels in LABELS]) == matches

    @pytest.mark.parametrize("text", CASES["refused label selectors"])
    def test_rejects_what_apimachinery_rejects_with_position(self, text: str) -> None:
        with pytest.raises(SelectorError, match="label selector ") as caught:
            Selector.parse(text)
        assert caught.value.position is not None
        assert 0 <= caught.value.position <= len(text)

    @pytest.mark.parametrize(
        ("text", "message", "position"),
        [
            ("a in (b", "label selector 'a in (b': expected ',' or ')' at position 7, found the end", 7),
            ("a in b", "label selector 'a in b': expected '(' at position 5, found 'b'", 5),
            ("a in (b,!", "label selector 'a in (b,!': expected a value, ',' or ')' at position 8, found '!'", 8),
            ("a,", "label selector 'a,': expected a label key or '!' at position 2, found the end", 2),
            ("!", "label selector '!': expected a label key at position 1, found the end", 1),
            ("a  b", "label selector 'a  b': expected one of = == != in notin > < or ',' at position 3, found 'b'", 3),
            ("a=b=c", "label selector 'a=b=c': expected ',' or the end at position 3, found '='", 3),
            ("a=(", "label selector 'a=(': expected a value at position 2, found '('", 2),
            ("!a=b", "label selector '!a=b': expected ',' or the end at position 2, found '='", 2),
            (
                "b,-a",
                "label selector 'b,-a': label key '-a': the name '-a' must consist of letters, digits, '-', '_' and "
                "'.', starting and ending with a letter or digit (at position 2)",
                2,
            ),
            (
                "a>x",
                "label selector 'a>x': label 'a': '>' needs a 64-bit integer to compare with, not 'x' (at position 0)",
                0,
            ),
        ],
    )
    def test_errors_name_the_position_and_what_was_expected(self, text: str, message: str, position: int) -> None:
        with pytest.raises(SelectorError) as caught:
            Selector.parse(text)
        assert str(caught.value) == message
        assert caught.value.position == position

    def test_an_empty_selector_selects_everything(self) -> None:
        assert Selector.parse("") == Selector() == Selector.everything() == Selector.from_labels({})
        assert Selector().selects_everything
        assert Selector().matches({})
        assert Selector().matches(None)
        assert str(Selector()) == ""

    def test_nothing_selects_nothing_also_when_it_is_sent(self) -> None:
        nothing = Selector.nothing()
        assert not any(nothing.matches(labels) for labels in [*LABELS, {"nothing": ""}, None])
        assert Selector.parse(str(nothing)) == nothing
        assert str(nothing) == "nothing,!nothing"

    def test_selectors_are_made_from_labels(self) -> None:
        assert str(Selector.from_labels({"b": "2", "example.com/a": ""})) == "b=2,example.com/a="
        with pytest.raises(SelectorError, match="label value 'not a value' must be empty or consist of"):
            Selector.from_labels({"a": "not a value"})

    def test_both_sides_of_an_and_must_match(self) -> None:
        both = Selector.parse("b=1") & Selector.parse("a")
        assert str(both) == "a,b=1"
        assert both.matches({"a": "", "b": "1"})
        assert not both.matches({"b": "1"})
        with pytest.raises(TypeError):
            both & "a"  # type: ignore[operator]

    def test_requirements_are_ordered_by_key_and_their_values_are_a_set(self) -> None:
        selector = Selector.parse("b in (y,x,y),a")
        assert selector.requirements == (
            Requirement("a", SelectorOperator.EXISTS),
            Requirement("b", SelectorOperator.IN, ("x", "y")),
        )
        assert len({selector, Selector.parse("a,b in (x,y)")}) == 1

    @pytest.mark.parametrize(
        ("operator", "values", "message"),
        [
            (SelectorOperator.IN, (), "label 'a': 'in' needs at least one value"),
            (SelectorOperator.EXISTS, ("x",), "label 'a': 'exists' takes no values"),
            (SelectorOperator.EQUALS, ("x", "y"), "label 'a': '=' needs exactly one value, not 2"),
            (SelectorOperator.LESS_THAN, (), "label 'a': '<' needs exactly one value, not 0"),
        ],
    )
    def test_rejects_invalid_requirements(
        self, operator: SelectorOperator, values: tuple[str, ...], message: str
    ) -> None:
        with pytest.raises(SelectorError) as caught:
            Requirement("a", operator, values)
        assert str(caught.value) == message
        assert caught.value.position is None

    def test_numbers_in_labels_that_do_not_fit_64_bits_are_not_compared(self) -> None:
        assert not Selector.parse("a>1").matches({"a": "9223372036854775808"})
        assert not Selector.parse("a>1").matches({"a": "9" * 10_000})
        assert not Selector.parse("a>1").matches({"a": "٢"})


class TestLabelSelectorObjects:
    @pytest.mark.parametrize(("content", "canonical", "matches"), CASES["LabelSelectors: object, canonical, matches"])
    def test_selects_like_apimachinery(
        self, content: dict[str, Any] | None, canonical: str | None, matches: str | None
    ) -> None:
        label_selector = None if content is None else msgspec.convert(content, LabelSelector)
        if matches is None:
            with pytest.raises(SelectorError):
                Selector.from_label_selector(label_selector)
            return
        selector = Selector.from_label_selector(label_selector)
        assert marks([selector.matches(labels) for labels in LABELS]) == matches
        # Go writes the selector for nothing as an empty text, which a server takes for everything.
        assert str(selector) == canonical or selector == Selector.nothing()

    def test_none_selects_nothing_and_an_empty_one_everything(self) -> None:
        assert Selector.from_label_selector(None) == Selector.nothing()
        assert Selector.from_label_selector(LabelSelector()) == Selector.everything()

    def test_errors_name_the_expression(self) -> None:
        good = LabelSelectorRequirement(key="a", operator="Exists")
        for bad, message in [
            (
                LabelSelectorRequirement(key="b", operator="Gt", values=["1"]),
                "matchExpressions[1]: the operator is 'Gt', expected one of In, NotIn, Exists, DoesNotExist",
            ),
            (
                LabelSelectorRequirement(key="b", operator="In"),
                "matchExpressions[1]: label 'b': 'in' needs at least one value",
            ),
        ]:
            with pytest.raises(SelectorError) as caught:
                Selector.from_label_selector(LabelSelector(match_expressions=[good, bad]))
            assert str(caught.value) == message


class TestFieldSelectors:
    @pytest.mark.promise("Reading the cache", "A selector has the full grammar.")
    @pytest.mark.parametrize(("text", "canonical", "matches"), CASES["field selectors: text, canonical, matches"])
    def test_parses_prints_and_matches_like_apimachinery(self, text: str, canonical: str, matches: str) -> None:
        selector = FieldSelector.parse(text)
        assert str(selector) == canonical
        assert marks([selector.matches(fields) for fields in FIELDS]) == matches

    @pytest.mark.parametrize("text", CASES["refused field selectors"])
    def test_rejects_what_apimachinery_rejects_with_position(self, text: str) -> None:
        with pytest.raises(SelectorError, match="field selector ") as caught:
            FieldSelector.parse(text)
        assert caught.value.position is not None
        assert 0 <= caught.value.position <= len(text)

    @pytest.mark.parametrize(
        ("text", "message", "position"),
        [
            ("a=x,b", "field selector 'a=x,b': expected one of = == != (at position 5)", 5),
            ("a=x=y", "field selector 'a=x=y': expected \\= for an = inside a value (at position 3)", 3),
            ("a=\\x", "field selector 'a=\\\\x': expected \\\\, \\, or \\= (at position 2)", 2),
            ("a=x\\", "field selector 'a=x\\\\': expected \\\\, \\, or \\= (at position 3)", 3),
            ("a=x,=y", "field selector 'a=x,=y': expected a field such as metadata.name, found '' (at position 4)", 4),
            (
                "a=x, b=y",
                "field selector 'a=x, b=y': expected a field such as metadata.name, found ' b' (at position 4)",
                4,
            ),
        ],
    )
    def test_errors_name_the_position_and_what_was_expected(self, text: str, message: str, position: int) -> None:
        with pytest.raises(SelectorError) as caught:
            FieldSelector.parse(text)
        assert str(caught.value) == message
        assert caught.value.position == position

    def test_special_characters_in_values_are_escaped(self) -> None:
        assert str(FieldSelector.from_fields({"a": "x,y=z\\"})) == "a=x\\,y\\=z\\\\"

    def test_an_empty_selector_selects_everything(self) -> None:
        assert FieldSelector.parse("") == FieldSelector() == FieldSelector.from_fields({})
        assert FieldSelector().selects_everything
        assert FieldSelector().matches({})

    def test_both_sides_of_an_and_must_match(self) -> None:
        both = FieldSelector.parse("b!=1") & FieldSelector.from_fields({"a": "2"})
        assert str(both) == "a=2,b!=1"
        assert both.matches({"a": "2"})
        assert not both.matches({"a": "2", "b": "1"})
        with pytest.raises(TypeError):
            both & "a"  # type: ignore[operator]

    def test_a_missing_field_is_empty(self) -> None:
        assert FieldSelector.parse("a=").matches({})
        assert not FieldSelector.parse("a!=").matches({})

    def test_order_does_not_matter(self) -> None:
        assert FieldSelector.parse("b==1,a!=2") == FieldSelector.parse("a!=2,b=1")
        # Go prints these in the order in which they were spelled: a=z,a=c
        assert str(FieldSelector.parse("a==z,a=c")) == "a=c,a=z"

    @pytest.mark.parametrize("field", ["", "a=b", "a!", "a b", "a,b", "a\\"])
    def test_rejects_field_that_would_parse_differently(self, field: str) -> None:
        with pytest.raises(SelectorError, match="expected a field such as"):
            FieldRequirement(field, "x")


class TestLabels:
    @pytest.mark.parametrize("key", ["a", "A", "9", "a.b_c-d", "n" * 63, "example.com/a", "x/y", "p" * 253 + "/a"])
    def test_good_keys(self, key: str) -> None:
        Requirement(key, SelectorOperator.EXISTS)

    @pytest.mark.parametrize(
        ("key", "message"),
        [
            ("", "the name is empty"),
            ("a/", "the name is empty"),
            ("/a", "the prefix before '/' is empty"),
            ("n" * 64, "the name has 64 characters, at most 63 are allowed"),
            ("p" * 254 + "/a", "the prefix has 254 characters, at most 253 are allowed"),
            ("Example.com/a", "the prefix 'Example.com' must be a lower-case DNS name such as 'example.com'"),
            ("a/b/c", "the prefix 'a/b' must be a lower-case DNS name such as 'example.com'"),
            ("a\n", "must consist of letters, digits"),
        ],
    )
    def test_rejects_invalid_keys_with_reason(self, key: str, message: str) -> None:
        with pytest.raises(ValueError, match="label key") as caught:
            Requirement(key, SelectorOperator.EXISTS)
        assert message in str(caught.value)

    @pytest.mark.parametrize("value", ["", "a", "A_b.c-9", "v" * 63])
    def test_good_values(self, value: str) -> None:
        Requirement("a", SelectorOperator.IN, (value,))

    @pytest.mark.parametrize("value", ["-a", "a-", "a b", "é", "v" * 64, "a\n", "a/b"])
    def test_rejects_invalid_values(self, value: str) -> None:
        with pytest.raises(ValueError, match="label value"):
            Requirement("a", SelectorOperator.IN, (value,))


keys = st.sampled_from(["a", "b", "app", "in", "notin", "example.com/app"])
values = st.sampled_from(["", "x", "y", "in", "notin", "A_b.c-d", "5", "17"])
exact = st.sampled_from([SelectorOperator.EQUALS, SelectorOperator.DOUBLE_EQUALS, SelectorOperator.NOT_EQUALS])
requirements = st.one_of(
    st.builds(Requirement, keys, exact, st.tuples(values)),
    st.builds(
        Requirement, keys, st.sampled_from([SelectorOperator.IN, SelectorOperator.NOT_IN]), st.lists(values, min_size=1)
    ),
    st.builds(Requirement, keys, st.sampled_from([SelectorOperator.EXISTS, SelectorOperator.DOES_NOT_EXIST])),
    st.builds(
        Requirement,
        keys,
        st.sampled_from([SelectorOperator.GREATER_THAN, SelectorOperator.LESS_THAN]),
        st.tuples(st.integers(0, 2**63 - 1).map(str)),
    ),
)
selectors = st.builds(Selector, st.lists(requirements, max_size=5))
label_sets = st.dictionaries(keys, values, max_size=4)
field_requirements = st.builds(
    FieldRequirement,
    st.sampled_from(["a", "metadata.name", "status.phase"]),
    st.text(alphabet="xy,=\\! é", max_size=6) | st.text(max_size=6),
    st.booleans(),
)
field_selectors = st.builds(FieldSelector, st.lists(field_requirements, max_size=5))


@given(selectors, label_sets)
def test_label_selectors_are_read_back_as_they_were_written(selector: Selector, labels: dict[str, str]) -> None:
    again = Selector.parse(str(selector))
    assert again == selector
    assert again.matches(labels) == selector.matches(labels)


@given(selectors, selectors, label_sets)
def test_an_and_of_label_selectors_matches_when_both_do(a: Selector, b: Selector, labels: dict[str, str]) -> None:
    assert (a & b).matches(labels) == (a.matches(labels) and b.matches(labels))


@given(label_sets, label_sets)
def test_selector_from_labels_matches_supersets(wanted: dict[str, str], labels: dict[str, str]) -> None:
    assert Selector.from_labels(wanted).matches(labels) == (wanted.items() <= labels.items())


@given(field_selectors, st.dictionaries(st.sampled_from(["a", "metadata.name"]), st.text(max_size=3)))
def test_field_selectors_are_read_back_as_they_were_written(selector: FieldSelector, fields: dict[str, str]) -> None:
    again = FieldSelector.parse(str(selector))
    assert again == selector
    assert again.matches(fields) == selector.matches(fields)


@given(st.text(max_size=20) | st.text(alphabet="ab =!(),<>in\\", max_size=20))
def test_any_string_parses_or_raises_selector_error(text: str) -> None:
    for kind in (Selector, FieldSelector):
        position: int | None = 0
        try:
            selector = kind.parse(text)
        except SelectorError as error:
            position = error.position
        else:
            assert kind.parse(str(selector)) == selector
        assert position is not None
        assert 0 <= position <= len(text)
