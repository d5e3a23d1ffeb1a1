"""Makes the Parquet files of this folder, and beside each what pyarrow reads in it.

    python -m venv venv && venv/bin/pip install pyarrow polars duckdb fastparquet pandas
    venv/bin/python make.py            # the files of these four programs
    venv/bin/python make.py expected   # only what pyarrow reads, for files that other programs made
"""

import datetime as dt
import decimal
import json
import math
import struct
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
ROWS = 120


def rows():
    """The rows that all programs write, as far as they have the types."""
    out = []
    for i in range(ROWS):
        some = i % 7 != 3
        out.append({
            "i": (i - 40) * 1_000_003 if some else None,
            "big": (1 << 53) + i if i % 2 else -(1 << 62) + i,
            "f": [0.1, -2.5e300, 1e-7, 3.0][i % 4] * (i + 1) / 3 if some else None,
            "word": ["red", "green", "", "blau/größe", None][i % 5],
            "text": f"row {i}: {'x' * (i % 17)}",
            "flag": i % 3 == 0 if i % 11 else None,
            "day": dt.date(1969, 12, 25) + dt.timedelta(days=i * 37) if some else None,
            "at": dt.datetime(2024, 2, 28, 23, 59, 59, 999_990) + dt.timedelta(microseconds=i, hours=i),
            "price": decimal.Decimal(i * 1237 - 5000).scaleb(-2) if some else None,
            "bytes": bytes(range(i % 9)) if i % 4 else None,
            "list": None if i % 6 == 5 else [k if k % 3 else None for k in range(i % 5)],
        })
    return out


SCHEMA = pa.schema([
    ("i", pa.int32()),
    ("big", pa.int64()),
    ("f", pa.float64()),
    ("word", pa.string()),
    ("text", pa.string()),
    ("flag", pa.bool_()),
    ("day", pa.date32()),
    ("at", pa.timestamp("us")),
    ("price", pa.decimal128(10, 2)),
    ("bytes", pa.binary()),
    ("list", pa.list_(pa.int64())),
])


def table():
    return pa.Table.from_pylist(rows(), SCHEMA)


def with_pyarrow():
    codecs = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
    names = SCHEMA.names
    compression = {name: codecs[at % len(codecs)] for at, name in enumerate(names)}
    # `list` has a leaf of its own.
    compression["list.list.element"] = compression.pop("list")
    pq.write_table(table(), HERE / "pyarrow.parquet", row_group_size=50, compression=compression,
                   use_dictionary=["word", "i"], data_page_size=300)
    pq.write_table(table(), HERE / "pyarrow_v2.parquet", row_group_size=50, compression="zstd",
                   data_page_version="2.0", data_page_size=300, use_dictionary=False,
                   column_encoding={"i": "DELTA_BINARY_PACKED", "big": "DELTA_BINARY_PACKED",
                                    "f": "BYTE_STREAM_SPLIT", "text": "DELTA_BYTE_ARRAY",
                                    "word": "DELTA_LENGTH_BYTE_ARRAY"})
    words = table().set_column(3, "word", table().column("word").dictionary_encode())
    pq.write_table(words.select(["i", "word", "at"]), HERE / "pyarrow_int96.parquet", row_group_size=50,
                   use_deprecated_int96_timestamps=True)


def with_polars():
    import polars
    frame = polars.from_arrow(table())
    for codec in ["zstd", "lz4"]:
        frame.write_parquet(HERE / f"polars_{codec}.parquet", compression=codec, row_group_size=50)


def with_duckdb():
    import duckdb
    rows = table()  # noqa: F841, the query names it
    for codec in ["snappy", "zstd"]:
        duckdb.sql(f"COPY (FROM rows) TO '{HERE}/duckdb_{codec}.parquet' "
                   f"(FORMAT parquet, CODEC '{codec}', ROW_GROUP_SIZE 2048)")
    duckdb.sql("COPY (SELECT word, [word, NULL] AS words, {'a': i, 'f': f} AS s, map {word: big} AS m, "
               f"big::HUGEINT AS huge FROM rows WHERE word IS NOT NULL) TO '{HERE}/duckdb_nested.parquet' (FORMAT parquet)")
    duckdb.sql("SELECT setseed(0.5)")
    duckdb.sql("COPY (SELECT uuid() AS u, [uuid(), NULL] AS us, to_months(i % 30) + to_days(i % 11) + to_milliseconds(i * 1234567) AS span, "
               "{'span': to_months(i), 'u': uuid()} AS s, encode(i || 'é') AS bytes "
               f"FROM range(40) AS t(i)) TO '{HERE}/duckdb_kinds.parquet' (FORMAT parquet)")


def with_fastparquet():
    import fastparquet
    import pandas
    frame = pandas.DataFrame(rows())
    frame["i"] = frame["i"].astype("Int32")
    frame["flag"] = frame["flag"].astype("boolean")
    frame["day"] = pandas.to_datetime(frame["day"])
    frame["word"] = frame["word"].astype("category")
    frame = frame.drop(columns=["price", "list"])
    codecs = ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4_RAW"]
    codecs = {name: codecs[at % len(codecs)] for at, name in enumerate(frame.columns)}
    fastparquet.write(str(HERE / "fastparquet.parquet"), frame, compression=codecs, row_group_offsets=50)


def value(value, kind):
    """A value as the load stores it, in JSON: blobs are objects with their bytes."""
    if value is None:
        return None
    if pa.types.is_dictionary(kind):
        return value_of(value, kind.value_type)
    return value_of(value, kind)


def value_of(value, kind):
    if pa.types.is_boolean(kind):
        return int(value)
    if pa.types.is_floating(kind):
        return None if math.isnan(value) else value
    if pa.types.is_decimal(kind):
        if kind.precision > (15 if kind.scale > 0 else 18):
            return format(value, "f")
        return int(value) if value == int(value) else float(value)
    if pa.types.is_date(kind):
        return value.isoformat()
    if pa.types.is_timestamp(kind):
        return timestamp(value, kind)
    if str(kind) == "extension<arrow.uuid>":
        return str(value)
    if str(kind) == "fixed_size_binary[12]":
        return interval(value)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return {"blob": value.hex()}
    if pa.types.is_nested(kind):
        return {"json": nested(value, kind)}
    return value


def interval(value):
    """The text of an interval, whose bytes are what pyarrow reads."""
    months, days, millis = struct.unpack("<III", value)
    text = (f"{months}M" if months else "") + (f"{days}D" if days else "")
    if millis or not text:
        text += f"T{millis // 1000}" + (f".{millis % 1000:03}" if millis % 1000 else "") + "S"
    return "P" + text


def timestamp(value, kind):
    text = value.strftime("%Y-%m-%d %H:%M:%S")
    nanos = value.microsecond * 1000 + getattr(value, "nanosecond", 0)
    for digits in (0, 3, 6, 9):
        if nanos % 10 ** (9 - digits) == 0:
            text += f".{nanos // 10 ** (9 - digits):0{digits}}" if digits else ""
            break
    return text + ("+00:00" if kind.tz else "")


def nested(value, kind):
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {str(key): nested(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: nested(value[field.name], field.type) for field in kind}
    if pa.types.is_nested(kind):
        return [nested(item, kind.value_type) for item in value]
    value = value_of(value, kind)
    return value["blob"] if isinstance(value, dict) else value


def with_arrow():
    import pyarrow.ipc as ipc
    for codec in ["lz4", "zstd"]:
        options = ipc.IpcWriteOptions(compression=codec)
        with ipc.new_file(HERE / f"pyarrow_{codec}.arrow", SCHEMA, options=options) as out:
            out.write_table(table(), max_chunksize=50)


def encrypted():
    import base64
    import pyarrow.parquet.encryption as pe

    class Kms(pe.KmsClient):
        def __init__(self, _):
            pe.KmsClient.__init__(self)

        def wrap_key(self, key, _):
            return base64.b64encode(key)

        def unwrap_key(self, key, _):
            return base64.b64decode(key)

    factory, connection = pe.CryptoFactory(Kms), pe.KmsConnectionConfig()
    small = pa.table({"a": [1, 2], "b": ["x", "y"]})
    for name, plaintext in [("footer", False), ("columns", True)]:
        config = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["a"]}, plaintext_footer=plaintext)
        properties = factory.file_encryption_properties(connection, config)
        (HERE / "refused").mkdir(exist_ok=True)
        path = HERE / "refused" / f"encrypted_{name}.parquet"
        with pq.ParquetWriter(path, small.schema, encryption_properties=properties) as out:
            out.write_table(small)


def expected(path):
    """Writes what pyarrow reads. Files of one program share it, and those that have the rows above, `rows.ndjson`."""
    read = pq.read_table(path)
    lines = []
    for row in read.to_pylist(maps_as_pydicts=None):
        values = {field.name: value(row[field.name], field.type) for field in read.schema}
        lines.append(json.dumps(values, ensure_ascii=False) + "\n")
    text = "".join(lines)
    shared = HERE / "rows.ndjson"
    if path.stem == "pyarrow":
        shared.write_text(text)
    program = path.with_name(path.stem.rsplit("_", 1)[0] + ".ndjson")
    alike = [other for other in (program, shared) if other.exists()]
    if text != alike[0].read_text():
        path.with_suffix(".ndjson").write_text(text)


if __name__ == "__main__":
    if sys.argv[1:] != ["expected"]:
        with_pyarrow()
        with_polars()
        with_duckdb()
        with_fastparquet()
        with_arrow()
        encrypted()
    expected(HERE / "pyarrow.parquet")
    for path in sorted(HERE.glob("*.parquet")):
        expected(path)
