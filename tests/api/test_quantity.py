"""`quantity_cases.json` holds what apimachinery itself answered; the tests here hold the rest of the contract."""

import copy
import json
import operator
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.api import Quantity, QuantityFormat

CASES: dict[str, Any] = json.loads(Path(__file__).with_name("quantity_cases.json").read_text())
PARSED = CASES["parse: text, canonical, format, value, milli value"]


@pytest.mark.promise("Typed objects", "Quantities are what apimachinery makes of them.")
@pytest.mark.parametrize(("text", "canonical", "form", "value", "milli"), PARSED)
def test_parses_like_apimachinery(text: str, canonical: str, form: str, value: int | None, milli: int | None) -> None:
    quantity = Quantity(text)
    assert quantity.canonical() == canonical
    assert quantity.format.value == form
    # None stands for a number that does not fit into the 64 bits that Go has for it.
    assert value is None or quantity.value() == value
    assert milli is None or quantity.milli_value() == milli


@pytest.mark.parametrize("text", CASES["refused"])
def test_rejects_what_apimachinery_rejects(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(text)


@pytest.mark.promise("Typed objects", "Quantities are what apimachinery makes of them.")
@pytest.mark.parametrize(("left", "right", "canonical", "form"), CASES["add"])
def test_sums_are_apimachinerys(left: str, right: str, canonical: str, form: str) -> None:
    result = Quantity(left) + Quantity(right)
    assert (str(result), result.format.value) == (canonical, form)


@pytest.mark.parametrize(("left", "right", "canonical", "form"), CASES["sub"])
def test_differences_are_apimachinerys(left: str, right: str, canonical: str, form: str) -> None:
    result = Quantity(left) - Quantity(right)
    assert (str(result), result.format.value) == (canonical, form)


@pytest.mark.parametrize(("left", "factor", "canonical", "form"), CASES["mul"])
def test_products_are_apimachinerys(left: str, factor: int, canonical: str, form: str) -> None:
    for result in (Quantity(left) * factor, factor * Quantity(left)):
        assert (str(result), result.format.value) == (canonical, form)


@pytest.mark.parametrize(("text", "canonical", "form"), CASES["neg"])
def test_negatives_are_apimachinerys(text: str, canonical: str, form: str) -> None:
    result = -Quantity(text)
    assert (str(result), result.format.value) == (canonical, form)


@pytest.mark.promise("Typed objects", "Quantities are what apimachinery makes of them.")
@pytest.mark.parametrize(("left", "right", "order"), CASES["cmp"])
def test_order_is_apimachinerys(left: str, right: str, order: int) -> None:
    a, b = Quantity(left), Quantity(right)
    assert (a < b, a == b, a > b) == (order < 0, order == 0, order > 0)
    assert (a <= b, a != b, a >= b) == (order <= 0, order != 0, order >= 0)
    assert order != 0 or hash(a) == hash(b)


@pytest.mark.promise("Typed objects", "Quantities are what apimachinery makes of them.")
@pytest.mark.parametrize(("constructor", "number", "form", "canonical"), CASES["new"])
def test_numbers_are_written_as_apimachinery_writes_them(
    constructor: str, number: int, form: str, canonical: str
) -> None:
    assert str(getattr(Quantity, constructor)(number, QuantityFormat(form))) == canonical


class TestWhereGoContradictsItsDocumentation:
    """Go's answers are in the comments."""

    @pytest.mark.parametrize("text", ["m", "Ki", "+", "-", ".", "e3", "-.G"])  # all of them 0
    def test_rejects_string_without_digit(self, text: str) -> None:
        with pytest.raises(ValueError, match="is not a quantity"):
            Quantity(text)

    def test_numbers_beyond_the_largest_suffix_keep_their_value(self) -> None:
        assert Quantity("1000E").canonical() == "1000E"  # 1
        assert str(Quantity("12E") * 1000) == "12000E"  # 12
        assert str(Quantity("1Ei") * 1024) == "1024Ei"  # 1

    def test_negative_fractions_round_away_from_zero(self) -> None:
        assert Quantity("-.5n").value() == -1  # 1
        assert Quantity("-1.5").value() == -2  # -2

    def test_values_do_not_wrap_around(self) -> None:
        assert Quantity("10E").value() == 10**19  # 0
        assert Quantity("-8Pi").value() == -(2**53)  # -4611686017

    def test_the_canonical_form_repeats_nothing_from_the_input(self) -> None:
        assert Quantity("+1").canonical() == "1"  # +1
        assert Quantity("1.500").canonical() == "1500m"  # 1.500


def test_keeps_the_original_string() -> None:
    assert str(Quantity("1000m")) == "1000m"
    assert str(Quantity("  1.5Gi\n")) == "1.5Gi"
    assert repr(Quantity("0.5")) == "Quantity('0.5')"


def test_computed_quantities_are_written_in_canonical_form() -> None:
    assert str(Quantity("0.5") + Quantity("0.5")) == "1"


@pytest.mark.parametrize(
    ("number", "text"),
    [(2, "2"), (-3, "-3"), (0.5, "0.5"), (3.0, "3"), (1e22, "1" + "0" * 22), (1e-7, "1e-07"), (Decimal("1.5"), "1.5")],
)
def test_numbers_are_quantities(number: float | Decimal, text: str) -> None:
    assert str(Quantity(number)) == text
    assert Quantity(number).as_decimal() == Decimal(text)


def test_a_quantity_can_be_made_from_another() -> None:
    assert str(Quantity(Quantity("1000m"))) == "1000m"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_rejects_nan_and_infinity(number: float | Decimal) -> None:
    with pytest.raises(ValueError, match=r"is not a quantity|cannot convert"):
        Quantity(number)


@pytest.mark.parametrize("value", [True, None, [], b"1"])
def test_rejects_other_types(value: Any) -> None:
    with pytest.raises(TypeError, match="a quantity is a string such as '500m' or a number, not"):
        Quantity(value)


def test_error_quotes_string_and_names_expected_form() -> None:
    with pytest.raises(ValueError) as caught:
        Quantity("5GB")
    assert str(caught.value) == (
        "'5GB' is not a quantity: expected a number with an optional suffix (n u m k M G T P E, Ki Mi Gi Ti Pi Ei, "
        "or an exponent such as e3), for example 500m, 1.5Gi or 12e6"
    )


@pytest.mark.parametrize("text", ["1" * 1001, "1e1000", "1e99999999999999999999", "1e-1000"])
def test_rejects_hostile_sizes_early(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(text)


def test_the_largest_that_is_allowed_works() -> None:
    assert Quantity("9" * 990 + "e999").value() == int("9" * 990) * 10**999
    assert Quantity("1e-999").canonical() == "1e-9"


def test_integers_take_part_in_comparison_and_arithmetic() -> None:
    assert Quantity("1000m") == 1
    assert hash(Quantity("1000m")) == hash(1)
    assert Quantity("1.5") > 1
    assert Quantity("1.5") < 2
    assert str(Quantity("1Ki") + 1024) == "2Ki"
    assert str(Quantity("1Ki") - 1) == "1023"
    assert str(2 - Quantity("500m")) == "1500m"


def test_sum_works_and_keeps_the_suffixes_of_the_first() -> None:
    assert str(sum([Quantity("512Mi"), Quantity("512Mi"), Quantity("1Gi")])) == "2Gi"


def test_other_types_do_not_take_part() -> None:
    assert Quantity("1") != "1"
    one = Quantity("1")
    foreign: Any
    for foreign in ("1", 1.5, None):
        for operate in (operator.add, operator.sub, operator.mul, operator.lt, operator.le, operator.gt, operator.ge):
            with pytest.raises(TypeError):
                operate(one, foreign)
    with pytest.raises(TypeError):
        operator.mul(one, one)


def test_truth_absolute_value_and_float() -> None:
    assert Quantity("1n")
    assert not Quantity("0Ki")
    assert str(abs(Quantity("-1.5Gi"))) == "1536Mi"
    assert float(Quantity("100m")) == 0.1
    assert Quantity("-100m").as_decimal() == Decimal("-0.1")


def test_quantities_are_immutable() -> None:
    quantity: Any = Quantity("1")
    with pytest.raises(AttributeError, match="is immutable"):
        quantity._text = "2"
    with pytest.raises(AttributeError, match="is immutable"):
        del quantity._text
    with pytest.raises(AttributeError):
        quantity.unit = "Gi"


@pytest.mark.parametrize("original", [Quantity("1000m"), Quantity("512Ki") * 2, Quantity("0.5Ki") + 0])
def test_copies_and_pickles_are_the_same(original: Quantity) -> None:
    for made in (copy.copy(original), copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
        assert (str(made), made.format) == (str(original), original.format)
        assert made == original


numbers = st.decimals(min_value=-(10**15), max_value=10**15, allow_nan=False, places=9)
suffixes = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti", "e3", "E-3", "e+6"])
quantities = st.builds(lambda number, suffix: Quantity(f"{number:f}{suffix}"), numbers, suffixes)


@given(quantities)
def test_the_canonical_form_is_the_same_amount_and_canonical(quantity: Quantity) -> None:
    again = Quantity(quantity.canonical())
    assert again == quantity
    assert again.canonical() == quantity.canonical()


@given(quantities, quantities)
def test_arithmetic_is_exact(a: Quantity, b: Quantity) -> None:
    assert (a + b) - b == a
    assert a + b == b + a
    assert a - b == -(b - a)
    assert a * 3 == a + a + a


@given(numbers)
def test_decimals_go_in_and_out_unchanged(number: Decimal) -> None:
    assert Quantity(number).as_decimal() == number


@given(st.text(max_size=12) | st.text(alphabet="0123456789.+-eEKMGTPnumki ", max_size=12))
def test_any_string_parses_or_raises_value_error(text: str) -> None:
    try:
        quantity = Quantity(text)
    except ValueError:
        return
    assert Quantity(quantity.canonical()) == quantity
