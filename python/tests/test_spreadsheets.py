"""Workbooks of openpyxl and xlsxwriter: a load stores what openpyxl reads."""

from __future__ import annotations

import datetime
import io
import tempfile
from pathlib import Path
from typing import Any

import pytest
import sqluice
from hypothesis import given
from hypothesis import strategies as st
from test_frames import need
from twin import query

# Characters that XML allows, without `_`, which may begin an escape, and control characters.
texts = st.text(st.characters(min_codepoint=32, max_codepoint=0xD7FF, exclude_characters="_"), min_size=1, max_size=8)
texts = texts.filter(lambda text: bool(text.strip()) and not text.startswith("="))
moments = st.datetimes(datetime.datetime(1900, 3, 1), datetime.datetime(9999, 12, 30)).map(lambda moment: moment.replace(microsecond=0))
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    # openpyxl writes 16 digits, so floats are rounded to 16 digits first.
    st.floats(-1e300, 1e300).map(lambda value: float(f"{value:.16g}")),
    texts,
    moments,
    moments.map(datetime.datetime.date),
    st.times().map(lambda time: time.replace(microsecond=0)),
    st.timedeltas(datetime.timedelta(0), datetime.timedelta(300)).map(lambda took: datetime.timedelta(seconds=int(took.total_seconds()))),
)


def stored(value: Any) -> Any:
    """Returns the value as a column without a type stores it."""
    match value:
        case datetime.datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S")
        case datetime.timedelta():
            seconds = int(value.total_seconds())
            return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        case datetime.date() | datetime.time():
            return value.isoformat()
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case bool():
            return int(value)
    return value


def loaded(book: bytes, **settings: Any) -> list[tuple[Any, ...]]:
    """Returns the rows of a workbook, loaded into columns without a type."""
    with tempfile.TemporaryDirectory() as there:
        db = Path(there) / "x.db"
        sqluice.load(db, io.BytesIO(book), table="t", schema="CREATE TABLE t (a, b, c)", **settings)
        return query(db, "SELECT a, b, c FROM t")


@given(st.lists(st.tuples(values, values, values).filter(lambda row: any(value is not None for value in row)), max_size=12))
def test_workbooks_of_openpyxl_are_loaded(rows: list[tuple[Any, ...]]) -> None:
    openpyxl = need("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["a", "b", "c"])
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    read = openpyxl.load_workbook(io.BytesIO(file.getvalue())).active.iter_rows(min_row=2, max_col=3, values_only=True)
    # openpyxl reads dates and durations with times of their own, so only other values are compared with what it reads.
    plain = (bool, int, float, str, type(None))
    for row, of_openpyxl, given_row in zip(loaded(file.getvalue(), header=True), read, rows, strict=True):
        assert row == tuple(map(stored, given_row))
        for value, other, given_value in zip(row, of_openpyxl, given_row, strict=True):
            assert not isinstance(given_value, plain) or value == stored(other)


def test_formulas_are_loaded_as_stored_values_and_a_formula_without_one_is_refused(tmp_path: Path) -> None:
    xlsxwriter, openpyxl = need("xlsxwriter"), need("openpyxl")
    path = tmp_path / "f.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("Sums")
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_formula(1, 0, "=1+1", None, 2)
        sheet.write_formula(1, 1, '="x"&"y"', None, "xy")
        sheet.write_formula(2, 0, "=1/0", None, "#DIV/0!")
        sheet.write(2, 1, "z")
    report = sqluice.load(tmp_path / "f.db", path)
    assert query(tmp_path / "f.db", "SELECT * FROM f") == [(2, "xy"), (None, "z")]
    assert any("#DIV/0!" in note and "A3" in note for note in report.inputs[0].notes)
    book = openpyxl.Workbook()
    for row in [["a"], ["=1+1"]]:
        book.active.append(row)
    book.save(path)
    with pytest.raises(sqluice.InputError, match="f.xlsx, sheet Sheet, A2: the formula has no stored value") as error:
        sqluice.load(tmp_path / "g.db", path)
    assert (error.value.sheet, error.value.line, error.value.column) == ("Sheet", 2, 1)
    sqluice.load(tmp_path / "g.db", path, formulas="null")
    assert query(tmp_path / "g.db", "SELECT * FROM f") == [(None,)]


def test_the_arguments_sheet_and_range_choose_the_loaded_cells(tmp_path: Path) -> None:
    openpyxl = need("openpyxl")
    book = openpyxl.Workbook()
    for name in ["One", "Two", "Three"]:
        sheet = book.create_sheet(name)
        for row in [["title"], [], ["n", "m"], [1, 2], [3, 4]]:
            sheet.append(row)
    book["Three"].sheet_state = "hidden"
    path = tmp_path / "book.xlsx"
    book.save(path)
    report = sqluice.load(tmp_path / "a.db", path)
    assert [table.name for table in report.tables] == ["One", "Two"]
    sqluice.load(tmp_path / "b.db", path, sheet="Three", table="t")
    assert query(tmp_path / "b.db", "SELECT n, m FROM t") == [(1, 2), (3, 4)]
    sqluice.load(tmp_path / "c.db", path, range="Two!B3:B4")
    assert query(tmp_path / "c.db", "SELECT * FROM Two") == [(2,)]
