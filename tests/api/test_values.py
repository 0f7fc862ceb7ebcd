from typing import Any

import msgspec
import pytest

from kubewright.api import JSON, IntOrString, Quantity, scaled_value
from kubewright.api.wire import dec_hook, enc_hook


class Limits(msgspec.Struct, omit_defaults=True):
    limits: dict[str, Quantity] = msgspec.field(default_factory=dict)
    port: IntOrString = 0
    extra: JSON = None


def read(text: str) -> Limits:
    return msgspec.json.decode(text, type=Limits, dec_hook=dec_hook)


def write(limits: Limits) -> str:
    return msgspec.json.encode(limits, enc_hook=enc_hook).decode()


@pytest.mark.promise("Typed objects", "Values that are a number or a text; percentages.")
@pytest.mark.parametrize(
    "text",
    ['{"limits":{"cpu":"1000m","memory":"1.5Gi"}}', '{"port":8080}', '{"port":"http"}', '{"extra":[1,{"a":null}]}'],
)
def test_values_are_written_as_they_were_read(text: str) -> None:
    assert write(read(text)) == text


def test_quantities_may_be_numbers_on_the_wire() -> None:
    assert read('{"limits":{"cpu":2,"memory":0.5}}').limits == {"cpu": Quantity("2"), "memory": Quantity("500m")}


def test_objects_share_equal_quantities() -> None:
    assert read('{"limits":{"cpu":"100m"}}').limits["cpu"] is read('{"limits":{"cpu":"100m"}}').limits["cpu"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"limits":{"cpu":"5GB"}}', r"'5GB' is not a quantity: .* - at `\$\.limits\[\.\.\.\]`"),
        ('{"limits":{"cpu":null}}', r"expected a quantity such as '500m', got null - at"),
        ('{"limits":{"cpu":true}}', r"expected a quantity such as '500m', got a boolean - at"),
        ('{"limits":{"cpu":["1"]}}', r"expected a quantity such as '500m', got a list - at"),
        ('{"port":1.5}', r"Expected `int \| str`, got `float` - at `\$\.port`"),
    ],
)
def test_errors_name_the_field_and_what_was_found(text: str, message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        read(text)


def test_rejects_unsupported_types() -> None:
    with pytest.raises(NotImplementedError, match="a complex cannot be part of a Kubernetes object"):
        enc_hook(1j)
    with pytest.raises(NotImplementedError, match="a field of a Kubernetes object cannot be a complex"):
        dec_hook(complex, "1")


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [(IntOrString, "x-kubernetes-int-or-string"), (JSON, "x-kubernetes-preserve-unknown-fields")],
)
def test_annotations_carry_their_schema(annotation: Any, schema: str) -> None:
    info: Any = msgspec.inspect.type_info(annotation)
    assert info.extra_json_schema == {schema: True}


# What apimachinery's GetScaledValueFromIntOrPercent answers, rounding up and down.
SCALED = [
    (0, 10, 0, 0),
    (5, 0, 5, 5),
    (-3, 101, -3, -3),
    ("0%", 101, 0, 0),
    ("1%", 0, 0, 0),
    ("1%", 1, 1, 0),
    ("1%", 101, 2, 1),
    ("25%", 3, 1, 0),
    ("25%", 10, 3, 2),
    ("33%", 10, 4, 3),
    ("50%", 3, 2, 1),
    ("50%", 10, 5, 5),
    ("99%", 101, 100, 99),
    ("100%", 3, 3, 3),
    ("150%", 3, 5, 4),
    ("-10%", 1, 0, -1),
    ("-10%", 101, -10, -11),
    ("+10%", 101, 11, 10),
]


@pytest.mark.promise("Typed objects", "Values that are a number or a text; percentages.")
@pytest.mark.parametrize(("value", "total", "up", "down"), SCALED)
def test_percentages_scale_as_in_apimachinery(value: int | str, total: int, up: int, down: int) -> None:
    assert scaled_value(value, total, round_up=True) == up
    assert scaled_value(value, total, round_up=False) == down


@pytest.mark.parametrize("text", ["5", "abc", "%", "5 %", " 5%", "1.5%", "%5", "50%%", ""])
def test_rejects_other_strings_as_percentages(text: str) -> None:
    with pytest.raises(ValueError, match="is neither an integer nor a percentage such as '25%'"):
        scaled_value(text, 10, round_up=True)
