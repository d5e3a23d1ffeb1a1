"""Avro files: a load stores what fastavro reads."""

from __future__ import annotations

import datetime
import decimal
import io
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

Schema = dict[str, Any] | list[Any] | str

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
utc = datetime.timezone.utc


def moments(digits: int, zone: datetime.timezone | None) -> st.SearchStrategy[datetime.datetime]:
    """Returns times with this many digits of a second, which fastavro writes without loss."""
    unit = 10 ** (6 - digits)
    whole = st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1))
    return whole.map(lambda moment: moment.replace(microsecond=moment.microsecond // unit * unit, tzinfo=zone))


def times(digits: int) -> st.SearchStrategy[datetime.time]:
    unit = 10 ** (6 - digits)
    return st.times().map(lambda time: time.replace(microsecond=time.microsecond // unit * unit))


def decimals(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda digits: decimal.Decimal((digits < 0, tuple(map(int, str(abs(digits)))), -scale)))


def simple(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


# The Avro types, each with a strategy for its values.
TYPES: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", st.integers(-(2**63), 2**63 - 1)),
    ("float", st.floats(width=32)),
    ("double", st.floats()),
    ("bytes", st.binary(max_size=8)),
    ("string", texts),
    (simple("int", logicalType="date"), st.dates()),
    (simple("int", logicalType="time-millis"), times(3)),
    (simple("long", logicalType="time-micros"), times(6)),
    (simple("long", logicalType="timestamp-millis"), moments(3, utc)),
    (simple("long", logicalType="timestamp-micros"), moments(6, utc)),
    (simple("long", logicalType="local-timestamp-millis"), moments(3, None)),
    (simple("long", logicalType="local-timestamp-micros"), moments(6, None)),
    (simple("bytes", logicalType="decimal", precision=9, scale=2), decimals(9, 2)),
    (simple("bytes", logicalType="decimal", precision=18, scale=0), decimals(18, 0)),
    (simple("bytes", logicalType="decimal", precision=30, scale=4), decimals(30, 4)),
    (simple("bytes", logicalType="decimal", precision=30, scale=2), decimals(15, 2)),
    (simple("bytes", logicalType="decimal", precision=38, scale=0), decimals(19, 0)),
    (simple("bytes", logicalType="decimal", precision=60, scale=20), decimals(60, 20)),
    (simple("string", logicalType="uuid"), st.uuids()),
]

# Types that have a name, which must be unique in a schema.
NAMED: list[tuple[dict[str, Any], st.SearchStrategy[Any]]] = [
    (simple("fixed", size=3), st.binary(min_size=3, max_size=3)),
    (simple("fixed", size=12, logicalType="decimal", precision=20, scale=3), decimals(20, 3)),
    (simple("enum", symbols=["A", "B", "C"]), st.sampled_from(["A", "B", "C"])),
]


@st.composite
def types(draw: st.DrawFn, names: list[int], depth: int = 2) -> tuple[Schema, st.SearchStrategy[Any]]:
    """Returns a schema and a strategy for its values. `names` holds the number of the names that are given."""
    chosen = draw(st.integers(0, 6 if depth else 2))
    if chosen <= 1:
        return draw(st.sampled_from(TYPES))
    if chosen == 2:
        named, values = draw(st.sampled_from(NAMED))
        names[0] += 1
        return {**named, "name": f"n{names[0]}"}, values
    inner, values = draw(types(names, depth - 1))
    if chosen == 3:
        return simple("array", items=inner), st.lists(values, max_size=3)
    if chosen == 4:
        return simple("map", values=inner), st.dictionaries(texts, values, max_size=3)
    if chosen == 5 and not isinstance(inner, list) and inner != "null":
        return draw(st.sampled_from([["null", inner], [inner, "null"]])), st.one_of(st.none(), values)
    names[0] += 1
    record = simple("record", name=f"n{names[0]}", fields=[{"name": "a", "type": inner}, {"name": "b", "type": "string"}])
    return record, st.fixed_dictionaries({"a": values, "b": texts})


def moment(value: datetime.datetime | datetime.time) -> str:
    """Returns ISO 8601 with a fraction of 3 or 6 digits, or none."""
    text = value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
    fraction = text.partition(".")[2][:6]
    return text.replace(f".{fraction}", f".{fraction[:3]}", 1) if fraction.endswith("000") else text


def nested(value: Any) -> Any:
    """Returns the JSON that is stored for a value of fastavro."""
    match value:
        case dict():
            return {key: nested(one) for key, one in value.items()}
        case list():
            return [nested(one) for one in value]
        case bytes():
            return value.hex()
        case float() if not math.isfinite(value):
            return None
        case decimal.Decimal():
            return float(value)
        case _:
            return text_of(value)


def text_of(value: Any) -> Any:
    match value:
        case datetime.datetime() | datetime.time():
            return moment(value)
        case datetime.date() | uuid.UUID():
            return str(value)
        case _:
            return value


def of_wide_decimals(value: decimal.Decimal, column: list[Any], scale: int) -> Any:
    """Returns the stored value of a decimal of more than 18 digits, which depends on the other values of the column."""
    present = [one for one in column if one is not None]
    if scale == 0:
        return int(value) if all(-(2**63) <= one < 2**63 for one in present) else format(value, "f")
    prints_back = all(format(float(one), f".{scale}f") == format(one, "f") for one in present)
    return float(value) if prints_back else format(value, "f")


def expected(value: Any, kind: Schema, column: list[Any]) -> Any:
    """Returns the value that a column of SQLite stores for a value of fastavro."""
    if isinstance(kind, list):
        kind = next(one for one in kind if one != "null")
    match value:
        case bool():
            return int(value)
        case float() if math.isnan(value):
            return None
        case decimal.Decimal():
            assert isinstance(kind, dict)
            digits, scale = kind["precision"], kind["scale"]
            if scale == 0 and digits <= 18:
                return int(value)
            if digits > 18:
                return of_wide_decimals(value, column, scale)
            if digits > 15:
                return format(value, "f")
            # The column is NUMERIC, in which SQLite stores a whole number as an integer.
            return int(value) if value == int(value) else float(value)
        case dict() | list():
            return nested(value)
        case _:
            return text_of(value)


def same(stored: Any, wanted: Any) -> bool:
    if isinstance(wanted, (dict, list)):
        # Each decimal and float of JSON is read as the nearest float.
        return same_json(json.loads(stored), wanted)
    return type(stored) is type(wanted) and stored == wanted


def same_json(stored: Any, wanted: Any) -> bool:
    match stored, wanted:
        case dict(), dict():
            return stored.keys() == wanted.keys() and all(same_json(stored[key], wanted[key]) for key in stored)
        case list(), list():
            return len(stored) == len(wanted) and all(map(same_json, stored, wanted))
        case (int() | float()), (int() | float()):
            # A float of 32 bits is stored with only the digits that it needs, so it may differ from the float of 64 bits that fastavro
            # returns.
            return bool(stored == wanted) or math.isclose(stored, wanted, rel_tol=1e-7, abs_tol=1e-45)
        case _:
            return bool(stored == wanted)


@given(data=st.data(), codec=st.sampled_from(["null", "deflate", "zstandard", "snappy"]))
def test_loaded_rows_equal_those_that_fastavro_reads(db: Path, data: st.DataObject, codec: str) -> None:
    fastavro = need("fastavro")
    names = [0]
    drawn = [data.draw(types(names)) for _ in range(data.draw(st.integers(1, 4)))]
    schema = simple("record", name="row", fields=[{"name": f"f{at}", "type": kind} for at, (kind, _) in enumerate(drawn)])
    rows = data.draw(st.lists(st.fixed_dictionaries({f"f{at}": values for at, (_, values) in enumerate(drawn)}), max_size=8))
    file = io.BytesIO()
    fastavro.writer(file, schema, rows, codec=codec, sync_interval=data.draw(st.sampled_from([1, 100, 16_000])))
    file.seek(0)
    read = list(fastavro.reader(file))
    file.seek(0)
    report = sqluice.load(db, file, table="t", overwrite=True)
    assert report.rows == len(read)
    for stored, wanted in zip(query(db, "SELECT * FROM t ORDER BY rowid"), read, strict=True):
        for at, (kind, _) in enumerate(drawn):
            column = [row[f"f{at}"] for row in read]
            assert same(stored[at], expected(wanted[f"f{at}"], kind, column)), (kind, stored[at], wanted[f"f{at}"])


def written(path: Path, rows: int, codec: str = "deflate") -> Path:
    """Writes a file of the columns `id` and `name`."""
    fastavro = need("fastavro")
    schema = simple("record", name="r", fields=[{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}])
    with path.open("wb") as file:
        fastavro.writer(file, schema, [{"id": at, "name": None if at % 3 else f"n{at}"} for at in range(rows)], codec=codec)
    return path


def test_options_of_load_apply_to_avro_files(db: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "t.avro", 50_000)
    assert sqluice.load(db, file, strict=True, primary_key="id", types={"name": "TEXT"}).rows == 50_000
    assert query(db, "SELECT count(*), sum(id), count(name), min(name) FROM t") == [(50_000, 1_249_975_000, 16_667, "n0")]
    assert sqluice.load(db, file, table="some", limit=10, columns=["name"]).rows == 10
    assert sqluice.load(db, file, table="other", format="avro").rows == 50_000


def test_the_error_about_a_damaged_file_names_the_block_and_skip_bad_files_leaves_the_file_out(db: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "t.avro", 50_000)
    short = tmp_path / "short.avro"
    short.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(sqluice.Error, match=r"short\.avro: .*block \d+ can't be read"):
        sqluice.load(db, short)
    assert sqluice.load(db, [short, file], skip_bad_files=True).rows == 50_000


@pytest.mark.parametrize("codec", ["bzip2", "xz"])
def test_bzip2_and_xz_codecs_are_refused_by_name(db: Path, tmp_path: Path, codec: str) -> None:
    with pytest.raises(sqluice.Error, match=f"compressed with {codec}"):
        sqluice.load(db, written(tmp_path / "t.avro", 10, codec))
