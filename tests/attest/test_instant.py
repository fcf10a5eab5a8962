from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.attest.instant import instant_of, now, parse_instant, seconds_of
from kstore.errors import UsageError

moments = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59))


@given(moments)
def test_an_instant_is_as_many_seconds_as_python_says(moment: datetime) -> None:
    whole = moment.replace(microsecond=0)
    expected = int(whole.replace(tzinfo=UTC).timestamp())
    assert seconds_of(whole.isoformat() + "Z") == expected
    assert instant_of(expected) == whole.isoformat() + "Z"


@given(moments, st.integers(0, 10**12))
def test_a_second_lies_before_an_instant_just_when_it_lies_before_the_whole_seconds(
    moment: datetime, part: int
) -> None:
    whole = moment.replace(microsecond=0)
    start = int(whole.replace(tzinfo=UTC).timestamp())
    exact = start + Fraction(part, 10**13)
    found = seconds_of(f"{whole.isoformat()}.{part:013}Z")
    for second in (start - 1, start, start + 1):
        assert (second < found) == (second < exact)


@pytest.mark.parametrize(
    ("instant", "seconds"),
    [
        ("1970-01-01T00:00Z", 0),
        ("1970-01-01T00:00:00.0Z", 0),
        ("1969-12-31T23:59:59Z", -1),
        # ISO 8601 has a year 0, a leap year, which Python has not: `date -d 0000-03-01` of coreutils agrees.
        ("0000-03-01T00:00:00Z", -62_162_035_200),
        ("0000-02-29T00:00:00Z", -62_162_121_600),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ],
)
def test_where_calendars_end(instant: str, seconds: int) -> None:
    assert seconds_of(instant) == seconds


def test_what_is_later_than_all_instants_is_the_last() -> None:
    assert instant_of(10**18) == "9999-12-31T23:59:59Z"


def test_now_is_this_machine_s_time() -> None:
    assert abs(now() - datetime.now(UTC).timestamp()) < 60


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-01", "2026-03-01T00:00:00Z"),
        ("2026-03-01T12:30Z", "2026-03-01T12:30Z"),
        ("2026-03-01T12:30:01.5Z", "2026-03-01T12:30:01.5Z"),
    ],
)
def test_people_write_instants_and_dates(text: str, instant: str) -> None:
    assert parse_instant(text) == instant


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-02-30", "2026-03-01T12:30:00+01:00", "2026-03-01\n", "20260301"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected an instant in UTC"):
        parse_instant(text)
