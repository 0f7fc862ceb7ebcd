import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.api import MicroTime, Time, format_micro_time, format_time, parse_time
from kubewright.api._time import whole_seconds  # private: one rule for all functions that take a moment
from kubewright.api.wire import dec_hook, enc_hook

NOON = datetime(2024, 2, 29, 12, 30, 45, tzinfo=UTC)
INDIA = timezone(timedelta(hours=5, minutes=30))


class Stamps(msgspec.Struct, omit_defaults=True):
    at: Time | None = None
    renewed: MicroTime | None = None


def read(text: str) -> Stamps:
    return msgspec.json.decode(text, type=Stamps, dec_hook=dec_hook)


def write(stamps: Stamps) -> str:
    return msgspec.json.encode(stamps, enc_hook=enc_hook).decode()


@pytest.mark.promise("Typed objects", "Times with and without micros.")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-02-29T12:30:45Z", NOON),
        ("2024-02-29T18:00:45+05:30", NOON),
        ("2024-02-29T04:30:45-08:00", NOON),
        ("2024-02-29T12:30:45.1Z", NOON.replace(microsecond=100000)),
        ("2024-02-29T12:30:45.123456Z", NOON.replace(microsecond=123456)),
        ("2024-02-29T12:30:45.999999999Z", NOON.replace(microsecond=999999)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_rfc_3339_times_are_read_into_utc(text: str, moment: datetime) -> None:
    parsed = parse_time(text)
    assert parsed == moment
    assert parsed.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-02-29",
        "2024-02-29T12:30Z",
        "2024-02-29T12:30:45",
        "2024-02-29 12:30:45Z",
        "2024-2-29T12:30:45Z",
        "2024-02-29T12:30:45.Z",
        "2024-02-29T12:30:45+0530",
        "2024-02-29t12:30:45z",
        "٢٠٢٤-02-29T12:30:45Z",
        "2024-02-29T12:30:45Z\n",
    ],
)
def test_rejects_other_time_formats(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an RFC 3339 time such as 2030-01-31T12:00:00Z"):
        parse_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30T12:30:45Z",
        "2024-02-29T24:00:00Z",
        "2024-02-29T12:30:60Z",
        "2024-02-29T12:30:45+24:00",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
    ],
)
def test_rejects_nonexistent_times(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid time: "):
        parse_time(text)


def test_times_are_written_in_utc() -> None:
    moment = datetime(2024, 2, 29, 18, 0, 45, 999999, tzinfo=INDIA)
    assert format_time(moment) == "2024-02-29T12:30:45Z"
    assert format_micro_time(moment) == "2024-02-29T12:30:45.999999Z"
    assert format_micro_time(NOON) == "2024-02-29T12:30:45.000000Z"
    assert whole_seconds(moment) == NOON


@pytest.mark.parametrize("function", [format_time, format_micro_time, whole_seconds, MicroTime.of])
def test_rejects_naive_datetime(function: object) -> None:
    assert callable(function)
    with pytest.raises(ValueError) as caught:
        function(datetime(2024, 2, 29, 12, 30, 45))
    assert str(caught.value) == (
        "2024-02-29T12:30:45 has no time zone: Kubernetes stores moments, not local times. "
        "Use datetime.now(UTC) or add tzinfo=UTC"
    )


def test_fields_are_read_and_written() -> None:
    text = '{"at":"2024-02-29T12:30:45Z","renewed":"2024-02-29T12:30:45.000000Z"}'
    stamps = read(text)
    assert stamps.at == NOON
    assert stamps.renewed == NOON
    assert write(stamps) == text


def test_null_and_absent_times_are_none() -> None:
    assert read('{"at":null,"renewed":null}') == Stamps()


@pytest.mark.promise("Typed objects", "Times with and without micros.")
def test_a_micro_time_is_always_written_with_six_decimals() -> None:
    assert write(Stamps(renewed=MicroTime(2024, 1, 1, tzinfo=INDIA))) == '{"renewed":"2023-12-31T18:30:00.000000Z"}'


def test_a_micro_time_without_a_time_zone_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        write(Stamps(renewed=MicroTime(2024, 1, 1)))


def test_reading_errors_name_the_field() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"'noon' is not an RFC 3339 time.* - at `\$\.renewed`"):
        read('{"renewed":"noon"}')
    with pytest.raises(msgspec.ValidationError, match=r"got a number - at `\$\.renewed`"):
        read('{"renewed":12}')
    with pytest.raises(msgspec.ValidationError, match=r"timezone component - at `\$\.at`"):
        read('{"at":"2024-02-29T12:30:45"}')


def test_a_micro_time_stays_one_through_arithmetic_copies_and_pickles() -> None:
    moment = MicroTime.of(NOON)
    for made in (moment + timedelta(seconds=0), copy.deepcopy(moment), pickle.loads(pickle.dumps(moment))):
        assert type(made) is MicroTime
        assert made == NOON


aware = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.just(INDIA))


@given(aware)
def test_round_trips_fields_v1(moment: datetime) -> None:
    assert parse_time(format_micro_time(moment)) == moment
    assert parse_time(format_time(moment)) == moment.replace(microsecond=0)
    assert read(write(Stamps(at=moment, renewed=MicroTime.of(moment)))) == Stamps(moment, MicroTime.of(moment))
