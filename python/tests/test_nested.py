"""Lists, dicts and arrays are stored as JSON. Dates and durations that cannot be stored exactly are errors."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import uuid
from pathlib import Path
from typing import Any

import pytest
import sqluice
from hypothesis import given
from hypothesis import strategies as st
from test_frames import need
from twin import query

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.binary(max_size=8),
    st.decimals(),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
)
keys = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), st.integers(), st.floats(), st.booleans(), st.none(), st.dates(), st.decimals(allow_nan=False))
nested = st.recursive(scalars, lambda inner: st.one_of(st.lists(inner, max_size=4), st.tuples(inner, inner), st.dictionaries(keys, inner, max_size=4)), max_leaves=12)


@given(values=st.lists(st.one_of(st.lists(nested, max_size=4), st.dictionaries(keys, nested, max_size=4)), min_size=1, max_size=20))
def test_containers_are_stored_as_valid_json(db: Path, values: list[Any]) -> None:
    sqluice.write(db, [(value,) for value in values], "t", columns=["a"], overwrite=True)
    assert query(db, "SELECT count(*) FROM t WHERE NOT json_valid(a) OR typeof(a) <> 'text'") == [(0,)]


plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), st.text(st.characters(exclude_categories=["Cs"]))),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)),
)


@given(value=st.lists(plain))
def test_plain_containers_are_stored_as_the_module_json_writes_them(db: Path, value: list[Any]) -> None:
    sqluice.write(db, [(value,)], "t", columns=["a"], overwrite=True)
    assert query(db, "SELECT a FROM t") == [(json.dumps(value, ensure_ascii=False),)]


@given(data=st.data())
def test_nested_arrow_values_are_stored_as_valid_json(db: Path, data: st.DataObject) -> None:
    pa = need("pyarrow")
    floats, texts = st.one_of(st.none(), st.floats()), st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))
    days = st.one_of(st.none(), st.dates())
    lists = data.draw(st.lists(st.one_of(st.none(), st.lists(floats, max_size=4)), min_size=1, max_size=8))
    rows = len(lists)
    structs = data.draw(st.lists(st.fixed_dictionaries({"x": floats, "s": texts, "d": days, "b": st.binary(max_size=3)}), min_size=rows, max_size=rows))
    maps = data.draw(st.lists(st.lists(st.tuples(st.floats(), texts), max_size=3), min_size=rows, max_size=rows))
    struct = pa.struct([("x", pa.float64()), ("s", pa.string()), ("d", pa.date32()), ("b", pa.binary())])
    table = pa.table({"a": pa.array(lists, pa.list_(pa.float32() if rows % 2 else pa.float64())), "b": pa.array(structs, struct), "c": pa.array(maps, pa.map_(pa.float64(), pa.string()))})
    sqluice.write(db, table, "t", overwrite=True)
    assert query(db, "SELECT count(*) FROM t WHERE a IS NOT NULL AND NOT json_valid(a) OR NOT json_valid(b) OR NOT json_valid(c)") == [(0,)]


def test_each_kind_of_value_within_lists_and_dicts_has_its_json_text(db: Path) -> None:
    np = need("numpy")
    when = datetime.datetime(2024, 2, 29, 1, 2, 3)
    cases = [
        ([math.nan, math.inf, -math.inf, 1.5], "[null, null, null, 1.5]"),
        ({"x": math.inf, 1: math.nan}, '{"x": null, "1": null}'),
        ({math.nan: 1, None: 2, True: 3, 1.5: 4}, '{"null": 1, "null": 2, "true": 3, "1.5": 4}'),
        ([decimal.Decimal("1.50"), decimal.Decimal("NaN"), decimal.Decimal("Infinity")], "[1.50, null, null]"),
        ([when, when.date(), datetime.timedelta(seconds=1)], '["2024-02-29 01:02:03", "2024-02-29", 1000000]'),
        ({when.date(): b"\x00\xff"}, '{"2024-02-29": "00ff"}'),
        ([uuid.UUID(int=1)], f'["{uuid.UUID(int=1)}"]'),
        ([np.float64("nan"), np.float32("inf"), np.int8(5), np.bool_(True), np.array([1.5, math.nan])], "[null, null, 5, true, [1.5, null]]"),
        (np.array([[1.0, math.inf]]), "[[1.0, null]]"),
        (np.array(["2024-02-29T01:02:03.123456789", "NaT"], "M8[ns]"), '["2024-02-29 01:02:03.123456789", null]'),
        ([2**70, "ä\"\n"], '[1180591620717411303424, "ä\\"\\n"]'),
    ]
    sqluice.write(db, [(value,) for value, _ in cases], "t", columns=["a"])
    assert query(db, "SELECT a FROM t") == [(expected,) for _, expected in cases]


def test_nan_and_missing_values_of_every_library_are_stored_as_null(db: Path) -> None:
    np, pd = need("numpy"), need("pandas")
    row = (math.nan, decimal.Decimal("NaN"), np.float32("nan"), pd.NaT, pd.NA, np.datetime64("NaT"), np.timedelta64("NaT"))
    sqluice.write(db, [row], "t", columns=list("abcdefg"))
    assert query(db, "SELECT * FROM t") == [(None,) * len(row)]


TOO_FAR = ["10000-01-01", "-0001-12-31"]


@pytest.mark.parametrize("text", TOO_FAR)
@pytest.mark.parametrize("unit", ["D", "s", "us"])
def test_a_date_outside_the_years_0_to_9999_is_an_error_with_row_and_column(db: Path, unit: str, text: str) -> None:
    np, pd = need("numpy"), need("pandas")
    count = 40_000
    moments = np.full(count, "2024-02-29", f"M8[{unit}]")
    moments[35_000] = np.datetime64(text, unit)
    values = [(n, [moment]) for n, moment in enumerate(moments[34_990:35_010])]
    tables: list[Any] = [pd.DataFrame({"n": np.arange(count), "when": moments}) if unit != "D" else None]
    array = np.zeros(count, [("n", "i8"), ("when", f"M8[{unit}]")])
    array["when"] = moments
    tables += [array, array.tolist()[:0], [(0, moment) for moment in moments]]
    for data in tables:
        if data is None or len(data) == 0:
            continue
        with pytest.raises(sqluice.InputError, match="row 35001, column when.*years 0 to 9999") as raised:
            sqluice.write(db, data, "t", columns=None if hasattr(data, "dtypes") or hasattr(data, "dtype") else ["n", "when"])
        assert (raised.value.row, raised.value.column) == (35_001, "when")
    with pytest.raises(sqluice.InputError, match="row 11, column when.*years 0 to 9999"):
        sqluice.write(db, values, "t", columns=["n", "when"])
    assert not db.exists()


def test_dates_in_the_years_0_and_9999_are_stored(db: Path) -> None:
    np = need("numpy")
    array = np.array([("0000-01-01", "9999-12-31T23:59:59", "3000-01-01")], [("a", "M8[D]"), ("b", "M8[s]"), ("c", "M8[us]")])
    sqluice.write(db, array, "t")
    sqluice.write(db, [(np.datetime64("0000-01-01", "s"),)], "u", columns=["a"])
    assert query(db, "SELECT * FROM t") == [("0000-01-01", "9999-12-31 23:59:59", "3000-01-01 00:00:00")]
    assert query(db, "SELECT substr(a, 1, 10) FROM u") == [("0000-01-01",)]


def test_a_duration_that_is_no_whole_number_of_microseconds_is_refused(db: Path) -> None:
    np, pd = need("numpy"), need("pandas")
    for span in (np.timedelta64(2_001, "ns"), pd.Timedelta(2_001, "ns")):
        with pytest.raises(sqluice.InputError, match="row 1, column a.*microseconds"):
            sqluice.write(db, [(span,)], "t", columns=["a"])
    sqluice.write(db, [(np.timedelta64(2_000, "ns"), pd.Timedelta(2_000, "ns"))], "t", columns=["a", "b"])
    assert query(db, "SELECT * FROM t") == [(2, 2)]
