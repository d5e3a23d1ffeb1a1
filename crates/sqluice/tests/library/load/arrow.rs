//! Loads of Parquet and Arrow IPC files: values of each type, damaged files, and files of several kinds in one table.
#![cfg(feature = "parquet")]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use crate::support::cases;
use crate::support::columnar::{ALL, Container, batch, declared, load, told};
use crate::support::files::Home;
use crate::support::load::{feed, run, schema};
use arrow_array::builder::*;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, UnionFields, UnionMode};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::load::{FormatOptions, Load, formats};
use sqluice::source::arrow::{ArrowOptions, DecimalAs, TimestampAs};

/// Returns true if Parquet has the type.
fn parquet_has(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Union(_, _) | DataType::Interval(IntervalUnit::MonthDayNano))
}

/// Asserts the column type and the values of an array that is loaded from Parquet and from Arrow.
#[track_caller]
fn is(array: impl Array + 'static, options: ArrowOptions, column_type: &str, expected: &str) {
    let array: ArrayRef = Arc::new(array);
    let batch =
        batch(vec![("c", Arc::clone(&array)), ("n", Arc::new(Int8Array::from(vec![1; array.len()])))]);
    for container in ALL {
        let home = Home::new();
        if container == Container::Parquet && !parquet_has(array.data_type()) {
            continue;
        }
        container.write(&home.path("x.dat"), std::slice::from_ref(&batch), 3);
        let db = load(&home, |load| load.arrow(options)).unwrap();
        assert_eq!(declared(&db)[0], format!("'c {column_type}'"), "{container:?}");
        assert_eq!(told(&db, "SELECT c FROM x ORDER BY rowid").join(" "), expected, "{container:?}");
    }
}

fn plainly(array: impl Array + 'static, column_type: &str, expected: &str) {
    is(array, ArrowOptions::default(), column_type, expected);
}

#[test]
fn integers_floats_and_bool_are_stored_as_numbers() {
    plainly(Int8Array::from(vec![Some(i8::MIN), None, Some(i8::MAX)]), "INTEGER", "-128 - 127");
    plainly(Int16Array::from(vec![Some(i16::MIN), None, Some(i16::MAX)]), "INTEGER", "-32768 - 32767");
    plainly(Int32Array::from(vec![i32::MIN, i32::MAX]), "INTEGER", "-2147483648 2147483647");
    plainly(
        Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)]),
        "INTEGER",
        "-9223372036854775808 - 9223372036854775807",
    );
    plainly(UInt8Array::from(vec![0, 255]), "INTEGER", "0 255");
    plainly(UInt16Array::from(vec![0, 65535]), "INTEGER", "0 65535");
    plainly(UInt32Array::from(vec![0, u32::MAX]), "INTEGER", "0 4294967295");
    plainly(
        UInt64Array::from(vec![Some(0), None, Some(i64::MAX as u64)]),
        "INTEGER",
        "0 - 9223372036854775807",
    );
    plainly(BooleanArray::from(vec![Some(true), None, Some(false)]), "INTEGER", "1 - 0");
    let half = Float16Array::from_iter_values(
        [0.5f32, -2.0].map(<Float16Type as ArrowPrimitiveType>::Native::from_f32),
    );
    plainly(half, "REAL", "0.5 -2.0");
    plainly(
        Float32Array::from(vec![Some(0.1), None, Some(f32::MAX)]),
        "REAL",
        "0.10000000149011612 - 3.4028234663852886e38",
    );
    plainly(Float64Array::from(vec![Some(0.1), None, Some(f64::NAN), Some(1e300)]), "REAL", "0.1 - - 1e300");
    plainly(NullArray::new(2), "TEXT", "- -");
}

#[test]
fn strings_and_binaries_of_all_layouts_are_text_and_blobs() {
    let texts = [Some("é"), None, Some(""), Some("longer than twelve bytes, so that a view points")];
    let expected = "'é' - '' 'longer than twelve bytes, so that a view points'";
    plainly(StringArray::from(texts.to_vec()), "TEXT", expected);
    plainly(LargeStringArray::from(texts.to_vec()), "TEXT", expected);
    plainly(StringViewArray::from(texts.to_vec()), "TEXT", expected);
    plainly(StringArray::from(texts.to_vec()).slice(1, 2), "TEXT", "- ''");
    let bytes = [Some(&b"\x00\xff"[..]), None, Some(b"")];
    plainly(BinaryArray::from(bytes.to_vec()), "BLOB", "[00, ff] - []");
    plainly(LargeBinaryArray::from(bytes.to_vec()), "BLOB", "[00, ff] - []");
    plainly(BinaryViewArray::from(bytes.to_vec()), "BLOB", "[00, ff] - []");
    let fixed =
        FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some(b"ab"), None].into_iter(), 2).unwrap();
    plainly(fixed, "BLOB", "[61, 62] -");
}

#[test]
fn dictionary_and_run_end_encoded_columns_are_stored_as_their_values() {
    let words: DictionaryArray<Int8Type> = vec![Some("a"), None, Some("b"), Some("a")].into_iter().collect();
    plainly(words, "TEXT", "'a' - 'b' 'a'");
    let keys = UInt16Array::from(vec![Some(1), Some(0), None]);
    let values = Int64Array::from(vec![Some(7), None]);
    plainly(DictionaryArray::new(keys, Arc::new(values)), "INTEGER", "- 7 -");
    let ends = Int32Array::from(vec![2, 3, 5]);
    let runs = RunArray::try_new(&ends, &StringArray::from(vec![Some("x"), None, Some("y")])).unwrap();
    plainly(runs, "TEXT", "'x' 'x' - 'y' 'y'");
}

#[test]
fn arrow_decimals_are_stored_as_numbers_if_numbers_hold_all_digits() {
    let decimals = |precision, scale| {
        let values = vec![Some(1234), None, Some(-5)];
        Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap()
    };
    let with = |decimal| ArrowOptions::new().decimal(decimal);
    plainly(decimals(15, 2), "NUMERIC", "12.34 - -0.05");
    plainly(decimals(16, 2), "TEXT", "'12.34' - '-0.05'");
    plainly(decimals(18, 0), "INTEGER", "1234 - -5");
    plainly(decimals(38, 0), "INTEGER", "1234 - -5");
    plainly(decimals(38, 2), "REAL", "12.34 - -0.05");
    plainly(decimals(38, 30), "REAL", "1.234e-27 - -5e-30");
    is(decimals(15, 2), with(DecimalAs::Text), "TEXT", "'12.34' - '-0.05'");
    is(decimals(38, 2), with(DecimalAs::Real), "REAL", "12.34 - -0.05");
    plainly(Decimal32Array::from(vec![1234]).with_precision_and_scale(9, 4).unwrap(), "NUMERIC", "0.1234");
    plainly(Decimal64Array::from(vec![-1]).with_precision_and_scale(18, 1).unwrap(), "TEXT", "'-0.1'");
    let huge =
        Decimal256Array::from(vec![i256::from_i128(i128::MAX)]).with_precision_and_scale(76, 3).unwrap();
    plainly(huge, "TEXT", "'170141183460469231731687303715884105.727'");
}

#[test]
fn decimals_in_a_column_without_a_type_are_text_only_on_request_or_if_no_number_holds_all_their_digits() {
    for (precision, scale, decimal, expected) in [
        (15, 2, DecimalAs::Auto, "12.34 - -0.05"),
        (15, 2, DecimalAs::Text, "'12.34' - '-0.05'"),
        (18, 0, DecimalAs::Auto, "1234 - -5"),
        (18, 0, DecimalAs::Text, "'1234' - '-5'"),
        (18, 2, DecimalAs::Auto, "'12.34' - '-0.05'"),
        (38, 0, DecimalAs::Auto, "1234 - -5"),
        (38, 2, DecimalAs::Auto, "12.34 - -0.05"),
        (38, 2, DecimalAs::Real, "12.34 - -0.05"),
    ] {
        let decimals = Decimal128Array::from(vec![Some(1234), None, Some(-5)]);
        let decimals = decimals.with_precision_and_scale(precision, scale).unwrap();
        let home = Home::new();
        Container::Parquet.write(&home.path("x.dat"), &[batch(vec![("c", Arc::new(decimals))])], 3);
        let options = ArrowOptions::new().decimal(decimal);
        let db = load(&home, |load| load.arrow(options).schema(Some(schema("CREATE TABLE x (c)")))).unwrap();
        assert_eq!(
            told(&db, "SELECT c FROM x ORDER BY rowid").join(" "),
            expected,
            "{precision} {scale} {decimal:?}"
        );
    }
}

#[test]
fn dates_and_times_are_text_and_durations_are_integers() {
    plainly(
        Date32Array::from(vec![Some(0), None, Some(-1), Some(19_782), Some(2_932_896)]),
        "TEXT",
        "'1970-01-01' - '1969-12-31' '2024-02-29' '9999-12-31'",
    );
    plainly(Date64Array::from(vec![86_400_000 * 366]), "TEXT", "'1971-01-02'");
    plainly(Time32SecondArray::from(vec![0, 86_399]), "TEXT", "'00:00:00' '23:59:59'");
    plainly(Time32MillisecondArray::from(vec![1, 1000]), "TEXT", "'00:00:00.001' '00:00:01'");
    plainly(Time64MicrosecondArray::from(vec![1, 500_000]), "TEXT", "'00:00:00.000001' '00:00:00.500'");
    plainly(Time64NanosecondArray::from(vec![1]), "TEXT", "'00:00:00.000000001'");
    plainly(TimestampSecondArray::from(vec![Some(-1), None]), "TEXT", "'1969-12-31 23:59:59' -");
    let zoned = TimestampMicrosecondArray::from(vec![1_709_164_800_000_001, 0]).with_timezone("+02:00");
    plainly(zoned, "TEXT", "'2024-02-29 00:00:00.000001+00:00' '1970-01-01 00:00:00+00:00'");
    plainly(TimestampNanosecondArray::from(vec![i64::MAX]), "TEXT", "'2262-04-11 23:47:16.854775807'");
    let unix = ArrowOptions::new().timestamp(TimestampAs::Unix);
    is(TimestampMillisecondArray::from(vec![Some(-1), None]), unix, "INTEGER", "-1 -");
    plainly(DurationMillisecondArray::from(vec![Some(1500), None]), "INTEGER", "1500 -");
    plainly(IntervalYearMonthArray::from(vec![14, 0]), "TEXT", "'P14M' 'PT0S'");
    plainly(IntervalDayTimeArray::from(vec![IntervalDayTime::new(3, -1500)]), "TEXT", "'P3DT-1.500S'");
    plainly(
        IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, -2, 1_000_000_001)]),
        "TEXT",
        "'P1M-2DT1.000000001S'",
    );
}

#[test]
fn nested_arrow_values_are_stored_as_json() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    plainly(lists, "TEXT", "'[1,null]' - '[]'");
    let large =
        LargeListArray::from_iter_primitive::<Float64Type, _, _>(vec![Some(vec![Some(0.5), Some(f64::NAN)])]);
    plainly(large, "TEXT", "'[0.5,null]'");
    let fixed = FixedSizeListArray::from_iter_primitive::<Int8Type, _, _>(
        vec![Some(vec![Some(1), Some(2)]), None],
        2,
    );
    plainly(fixed, "TEXT", "'[1,2]' -");
    let views = ListViewArray::try_new(
        Arc::new(Field::new("item", DataType::Int64, true)),
        ScalarBuffer::from(vec![1, 0]),
        ScalarBuffer::from(vec![2, 1]),
        Arc::new(Int64Array::from(vec![1, 2, 3])),
        None,
    );
    plainly(views.unwrap(), "TEXT", "'[2,3]' '[1]'");
    let fields = Fields::from(vec![
        Field::new("a\"", DataType::Utf8, true),
        Field::new("b", DataType::Binary, true),
        Field::new("d", DataType::Date32, true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["x\n\u{1}", "y"])),
        Arc::new(BinaryArray::from(vec![&b"\x0a\xff"[..], b""])),
        Arc::new(Date32Array::from(vec![Some(0), None])),
    ];
    let structs = StructArray::new(fields, columns, Some(NullBuffer::from(vec![true, false])));
    plainly(structs, "TEXT", "'{\"a\\\"\":\"x\\n\\u0001\",\"b\":\"0aff\",\"d\":\"1970-01-01\"}' -");
    let mut maps = MapBuilder::new(None, Int32Builder::new(), StringBuilder::new());
    maps.keys().append_value(1);
    maps.values().append_value("x");
    maps.append(true).unwrap();
    plainly(maps.finish(), "TEXT", "'{\"1\":\"x\"}'");
    let union = UnionArray::try_new(
        UnionFields::try_new(
            [0, 1],
            [Field::new("i", DataType::Int32, true), Field::new("s", DataType::Utf8, true)],
        )
        .unwrap(),
        ScalarBuffer::from(vec![0i8, 1, 0]),
        Some(ScalarBuffer::from(vec![0, 0, 1])),
        vec![Arc::new(Int32Array::from(vec![Some(5), None])), Arc::new(StringArray::from(vec!["x"]))],
    );
    let union = union.unwrap();
    assert!(matches!(union.data_type(), DataType::Union(_, UnionMode::Dense)));
    plainly(union, "TEXT", "'5' '\"x\"' -");
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0, 1]));
    let inner = DictionaryArray::<Int8Type>::from_iter(["k"]);
    let field = Arc::new(Field::new("item", inner.data_type().clone(), true));
    plainly(ListArray::new(field, offsets, Arc::new(inner), None), "TEXT", "'[\"k\"]'");
}

#[test]
fn a_value_that_sqlite_can_not_store_makes_a_bad_row_that_names_its_column() {
    for container in ALL {
        let home = Home::new();
        let big = UInt64Array::from(vec![1, u64::MAX, 2, 1 << 63]);
        let dates = Date32Array::from(vec![0, 0, i32::MAX, 0]);
        let rows = batch(vec![("u", Arc::new(big)), ("d", Arc::new(dates))]);
        container.write(&home.path("x.dat"), &[rows], 1000);
        let error = load(&home, |load| load).unwrap_err();
        assert_eq!(
            error,
            "x.dat: column u: 18446744073709551615 is above 9223372036854775807, the largest integer of SQLite (row 2) \
             [`types = COLUMN=TEXT` keeps all its digits]"
        );
        load(&home, |load| load.reject(home.path("r.csv"))).unwrap();
        let db = Connection::open(home.path("x.db")).unwrap();
        assert_eq!(told(&db, "SELECT rowid, * FROM x"), ["1 1 '1970-01-01'"]);
        let rejects = fs::read_to_string(home.path("r.csv")).unwrap();
        assert!(
            rejects.contains("2147483647 of type Date32 is beyond the years 0 to 9999 (row 3)"),
            "{rejects}"
        );
        assert!(rejects.contains("9223372036854775808"), "{rejects}");
        drop(db);
        fs::remove_file(home.path("x.db")).unwrap();
        let as_text = |load: Load| load.types([("u", "TEXT")]).columns(["u"]);
        let db = load(&home, as_text).unwrap();
        assert_eq!(
            told(&db, "SELECT * FROM x").join(" "),
            "'1' '18446744073709551615' '2' '9223372036854775808'"
        );
    }
}

#[test]
fn parquet_and_arrow_files_that_are_cut_short_or_of_another_format_are_refused() {
    let rows = batch(vec![("a", Arc::new(Int64Array::from_iter_values(0..1000)))]);
    for container in ALL {
        let home = Home::new();
        container.write(&home.path("x.dat"), std::slice::from_ref(&rows), 1000);
        let whole = fs::read(home.path("x.dat")).unwrap();
        fs::write(home.path("x.dat"), &whole[..whole.len() / 2]).unwrap();
        let error = load(&home, |load| load).unwrap_err();
        let what = if container == Container::Parquet {
            "x.dat: this is not a Parquet file"
        } else {
            "x.dat: this is not an Arrow IPC file"
        };
        assert!(error.starts_with(what), "{error}");
        assert!(!home.path("x.db").exists());
    }
    for (kind, what) in [
        (&formats::PARQUET, "this is not a Parquet file"),
        (&formats::ARROW, "this is not an Arrow IPC file"),
    ] {
        for content in ["", "a,b\n1,2\n"] {
            let home = Home::new();
            fs::write(home.path("x.dat"), content).unwrap();
            let format = FormatOptions::new().format(kind);
            assert!(load(&home, |load| load.format(format)).unwrap_err().contains(what));
        }
    }
}

#[test]
fn a_columnar_file_without_rows_makes_an_empty_table_and_one_without_columns_is_an_error() {
    for container in ALL {
        let home = Home::new();
        container.write(
            &home.path("x.dat"),
            &[batch(vec![("a", Arc::new(Float64Array::from(Vec::<f64>::new())))])],
            9,
        );
        let db = load(&home, |load| load).unwrap();
        assert_eq!((declared(&db), told(&db, "SELECT * FROM x")), (vec!["'a REAL'".to_owned()], Vec::new()));
        let home = Home::new();
        let nothing = RecordBatch::new_empty(Arc::new(Schema::empty()));
        container.write(&home.path("x.dat"), &[nothing], 9);
        assert_eq!(load(&home, |load| load).unwrap_err(), "x.dat: the file has no column");
    }
}

#[test]
fn parquet_and_arrow_data_are_read_from_a_pipe() {
    let rows = batch(vec![("a", Arc::new(Int64Array::from_iter_values(0..1000)))]);
    for container in ALL {
        let home = Home::new();
        container.write(&home.path("whole"), std::slice::from_ref(&rows), 100);
        let bytes = fs::read(home.path("whole")).unwrap();
        feed(&home.path("x.dat"), move |pipe| drop(std::io::Write::write_all(pipe, &bytes)));
        let db = load(&home, |load| load).unwrap();
        assert_eq!(told(&db, "SELECT count(*), sum(a) FROM x"), ["1000 499500"]);
    }
}

#[test]
fn parquet_and_arrow_files_compressed_by_gzip_are_read() {
    let rows = batch(vec![("a", Arc::new(Int64Array::from_iter_values(0..1000)))]);
    for container in ALL {
        let home = Home::new();
        container.write(&home.path("whole"), std::slice::from_ref(&rows), 100);
        let packed = File::create(home.path("x.dat")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        std::io::copy(&mut File::open(home.path("whole")).unwrap(), &mut packed).unwrap();
        packed.finish().unwrap();
        let db = load(&home, |load| load).unwrap();
        assert_eq!(told(&db, "SELECT count(*), sum(a) FROM x"), ["1000 499500"]);
    }
}

#[test]
fn parquet_arrow_csv_and_json_files_fill_one_table() {
    let home = Home::new();
    Container::Parquet.write(
        &home.path("1.parquet"),
        &[batch(vec![("a", Arc::new(Int64Array::from(vec![1])))])],
        9,
    );
    Container::File.write(
        &home.path("2.arrow"),
        &[batch(vec![("a", Arc::new(Float64Array::from(vec![1.5])))])],
        9,
    );
    fs::write(home.path("3.csv"), "a\n2.25\n").unwrap();
    fs::write(home.path("4.json"), "{\"a\":7}").unwrap();
    let files = ["1.parquet", "2.arrow", "3.csv", "4.json"].map(|name| home.path(name));
    let load = Load::new(home.path("x.db"), files).table("x");
    run(load).unwrap();
    let db = Connection::open(home.path("x.db")).unwrap();
    assert_eq!(
        (declared(&db), told(&db, "SELECT * FROM x").join(" ")),
        (vec!["'a REAL'".to_owned()], "1.0 1.5 2.25 7.0".to_owned())
    );
}

#[test]
fn files_that_declare_different_types_fill_a_column_that_keeps_all_values() {
    for containers in [[Container::Parquet, Container::Parquet], [Container::Parquet, Container::Stream]] {
        let home = Home::new();
        // The float is not an integer, and the integer has no exact float. So the column can have neither type.
        let columns: [ArrayRef; 2] = [
            Arc::new(Int64Array::from(vec![9_007_199_254_740_993])),
            Arc::new(Float64Array::from(vec![0.5])),
        ];
        for (at, (container, column)) in containers.iter().zip(columns).enumerate() {
            container.write(&home.path(&format!("{at}.dat")), &[batch(vec![("a", column)])], 9);
        }
        let load = Load::new(home.path("x.db"), [home.path("0.dat"), home.path("1.dat")]).table("x");
        run(load).unwrap();
        let db = Connection::open(home.path("x.db")).unwrap();
        assert_eq!(told(&db, "SELECT a FROM x"), ["'9007199254740993'", "'0.5'"]);
    }
}

/// Writes a Parquet file whose column `t` has timestamps of 96 bits: a Julian day number, and nanoseconds of the day.
fn write_int96(path: &Path, timestamps: &[(u32, u64)]) {
    use parquet::data_type::{Int96, Int96Type};
    let schema = parquet::schema::parser::parse_message_type("message m { required int96 t; }").unwrap();
    let mut writer = parquet::file::writer::SerializedFileWriter::new(
        File::create(path).unwrap(),
        Arc::new(schema),
        Arc::new(WriterProperties::builder().build()),
    )
    .unwrap();
    let values =
        timestamps.iter().map(|(day, nanos)| Int96::from(vec![*nanos as u32, (nanos >> 32) as u32, *day]));
    let values: Vec<Int96> = values.collect();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn parquet_timestamps_of_96_bits_can_be_before_1677_and_after_2262() {
    let home = Home::new();
    write_int96(&home.path("x.dat"), &[(2_440_588, 1_000), (5_373_484, 86_399_000_000_000), (2_305_448, 0)]);
    let db = load(&home, |load| load).unwrap();
    // SQLite gives the dates of the Julian days. A Julian day begins at noon, so midnight is half a day earlier than its number.
    let days =
        told(&db, "SELECT date(2440587.5), date(5373483.5), date(2305447.5)").join("").replace('\'', "");
    let days: Vec<&str> = days.split(' ').collect();
    assert_eq!(
        told(&db, "SELECT t FROM x"),
        [
            format!("'{} 00:00:00.000001'", days[0]),
            format!("'{} 23:59:59'", days[1]),
            format!("'{} 00:00:00'", days[2])
        ]
    );
}

/// A row: an integer, a float, a text, a blob, a word.
type Row = (Option<i64>, Option<f64>, Option<String>, Option<Vec<u8>>, Option<u8>);

fn rows() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let row = (
        prop::option::of(any::<i64>()),
        prop::option::of(-1e9..1e9f64),
        prop::option::of("[a-zé]{0,20}"),
        prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
        prop::option::of(0..4u8),
    );
    prop::collection::vec(prop::collection::vec(row, 0..80), 1..5)
}

fn of_rows(rows: &[Row]) -> RecordBatch {
    // All batches have the same dictionary: an IPC file may have only one.
    let values = StringArray::from(vec!["w0", "w1", "w2", "w3"]);
    let keys: Int32Array = rows.iter().map(|row| row.4.map(i32::from)).collect();
    batch(vec![
        ("i", Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>())),
        ("r", Arc::new(rows.iter().map(|row| row.1).collect::<Float64Array>())),
        ("t", Arc::new(rows.iter().map(|row| row.2.as_deref()).collect::<StringViewArray>())),
        ("b", Arc::new(rows.iter().map(|row| row.3.as_deref()).collect::<LargeBinaryArray>())),
        ("w", Arc::new(DictionaryArray::new(keys, Arc::new(values)))),
    ])
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn random_parquet_and_arrow_files_are_loaded_with_all_their_values(
        batches in rows(),
        container in prop::sample::select(ALL.to_vec()),
        group_rows in 1..100usize,
        limit in prop::option::of(0..200u64),
        declared: bool,
    ) {
        let home = Home::new();
        let written: Vec<RecordBatch> = batches.iter().map(|rows| of_rows(rows)).collect();
        container.write(&home.path("x.dat"), &written, group_rows);
        // Declare only some of the columns, in another order.
        let schema = declared.then(|| schema("CREATE TABLE x (w, d DEFAULT 5, i, b, r, t)"));
        let columns = (!declared).then(|| ["w", "i", "b", "r", "t"].map(str::to_owned).to_vec());
        let with = |mut load: Load| {
            load.columns = columns;
            load.limit(limit).schema(schema)
        };
        let db = load(&home, with).unwrap();
        let stored = {
            let mut statement = db.prepare("SELECT i, r, t, b, w FROM x ORDER BY rowid").unwrap();
            let rows = statement.query_map([], |row| {
                let word: Option<String> = row.get(4)?;
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, word.map(|word| word.as_bytes()[1] - b'0')))
            });
            rows.unwrap().collect::<Result<Vec<Row>, _>>().unwrap()
        };
        let mut expected: Vec<Row> = batches.concat();
        expected.truncate(limit.unwrap_or(u64::MAX) as usize);
        prop_assert_eq!(stored, expected);
    }

    #[test]
    fn a_failed_load_of_a_damaged_parquet_or_arrow_file_leaves_no_database(
        batches in rows(),
        container in prop::sample::select(ALL.to_vec()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let home = Home::new();
        let written: Vec<RecordBatch> = batches.iter().map(|rows| of_rows(rows)).collect();
        container.write(&home.path("x.dat"), &written, 50);
        let mut bytes = fs::read(home.path("x.dat")).unwrap();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        fs::write(home.path("x.dat"), bytes).unwrap();
        if let Err(error) = load(&home, |load| load) {
            prop_assert!(!error.is_empty());
            prop_assert!(!home.path("x.db").exists());
        }
    }
}
