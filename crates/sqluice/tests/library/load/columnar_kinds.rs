//! Parquet columns whose values need more than their bytes to be understood: intervals, UUIDs, binaries that are texts, decimals, and
//! groups without members.
#![cfg(feature = "parquet")]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use crate::support::cases;
use crate::support::columnar::{Container, batch, declared, load, told};
use crate::support::files::Home;
use arrow_array::{ArrayRef, IntervalMonthDayNanoArray};
use arrow_buffer::IntervalMonthDayNano;
use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int64Type as ParquetInt64,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::load::Load;
use sqluice::options::{IfExists, WriteOptions};

/// The values of a leaf column that are not NULL.
enum Leaf {
    Ints(Vec<i64>),
    Bytes(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
}

/// Writes a file of one row group. Each leaf has its values, and its definition and repetition levels if it is not required.
fn write(path: &Path, schema: &str, leaves: &[(Leaf, &[i16], &[i16])]) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (leaf, definitions, repetitions) in leaves {
        let levels = |levels: &'_ [i16]| (!levels.is_empty()).then(|| levels.to_vec());
        let (definitions, repetitions) = (levels(definitions), levels(repetitions));
        let (definitions, repetitions) = (definitions.as_deref(), repetitions.as_deref());
        let bytes = |values: &[Vec<u8>]| values.iter().cloned().map(ByteArray::from).collect::<Vec<_>>();
        let mut column = group.next_column().unwrap().unwrap();
        let written = match leaf {
            Leaf::Ints(ints) => column.typed::<ParquetInt64>().write_batch(ints, definitions, repetitions),
            Leaf::Bytes(values) => {
                column.typed::<ByteArrayType>().write_batch(&bytes(values), definitions, repetitions)
            }
            Leaf::Fixed(values) => {
                let values: Vec<_> = bytes(values).into_iter().map(FixedLenByteArray::from).collect();
                column.typed::<FixedLenByteArrayType>().write_batch(&values, definitions, repetitions)
            }
        };
        written.unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

fn interval(months: u32, days: u32, milliseconds: u32) -> Vec<u8> {
    [months, days, milliseconds].map(u32::to_le_bytes).concat()
}

/// Loads the file into an existing table.
fn load_into(home: &Home, table: &str) -> Result<Connection, String> {
    let _ = fs::remove_file(home.path("x.db"));
    Connection::open(home.path("x.db")).unwrap().execute_batch(table).unwrap();
    load(home, |load| load.write(WriteOptions::new().if_exists(IfExists::Append)))
}

/// Loads the file into a new table whose column has this type.
fn load_as(home: &Home, column: &str, declared: &str) -> Result<Connection, String> {
    let _ = fs::remove_file(home.path("x.db"));
    load(home, |load: Load| load.types([(column, declared)]))
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn an_interval_of_parquet_is_the_text_of_arrows_interval_of_months_days_and_nanoseconds(
        values in prop::collection::vec(
            prop::option::of((0..=i32::MAX, prop_oneof![Just(0), 0..=i32::MAX], prop_oneof![Just(0), any::<u32>()])),
            1..40),
    ) {
        let (parquet, arrow) = (Home::new(), Home::new());
        let present: Vec<_> = values.iter().flatten().map(|(months, days, milliseconds)| {
            interval(months.cast_unsigned(), days.cast_unsigned(), *milliseconds)
        }).collect();
        let definitions: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
        let schema = "message m {
            optional fixed_len_byte_array(12) c (INTERVAL);
            repeated fixed_len_byte_array(12) l (INTERVAL);
        }";
        let repetitions = vec![0; values.len()];
        write(&parquet.path("x.dat"), schema, &[
            (Leaf::Fixed(present.clone()), &definitions, &[]),
            (Leaf::Fixed(present), &definitions, &repetitions),
        ]);
        let same = values.iter().map(|value| value.map(|(months, days, milliseconds)| {
            IntervalMonthDayNano::new(months, days, i64::from(milliseconds) * 1_000_000)
        }));
        let same: ArrayRef = Arc::new(same.collect::<IntervalMonthDayNanoArray>());
        Container::File.write(&arrow.path("x.dat"), &[batch(vec![("c", same)])], 9);
        let [parquet, arrow] = [&parquet, &arrow].map(|home| load(home, |load| load).unwrap());
        prop_assert_eq!(&declared(&parquet)[0], "'c TEXT'");
        let sql = "SELECT typeof(c), c FROM x ORDER BY rowid";
        prop_assert_eq!(told(&parquet, sql), told(&arrow, sql));
        let wrong = "SELECT count(*) FROM x WHERE json_extract(l, '$[0]') IS NOT c OR json_array_length(l) > 1";
        prop_assert_eq!(told(&parquet, wrong), ["0"]);
    }

    /// The expected text of a UUID is made by SQLite from its bytes.
    #[test]
    fn a_uuid_is_text_unless_its_column_is_declared_as_blob(uuids in prop::collection::vec(any::<[u8; 16]>(), 1..20)) {
        let home = Home::new();
        let bytes: Vec<_> = uuids.iter().map(|uuid| uuid.to_vec()).collect();
        let schema = "message m {
            required fixed_len_byte_array(16) u (UUID);
            repeated fixed_len_byte_array(16) l (UUID);
        }";
        let (ones, zeros) = (vec![1; bytes.len()], vec![0; bytes.len()]);
        write(&home.path("x.dat"), schema, &[
            (Leaf::Fixed(bytes.clone()), &[], &[]),
            (Leaf::Fixed(bytes.clone()), &ones, &zeros),
        ]);
        let blobs = load_as(&home, "u", "BLOB").unwrap();
        let hex = |bytes: &Vec<u8>| format!("{bytes:02x?}");
        prop_assert_eq!(told(&blobs, "SELECT u FROM x"), bytes.iter().map(hex).collect::<Vec<_>>());
        let pieces = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)];
        let pieces = pieces.map(|(start, length)| format!("substr(lower(hex(u)), {start}, {length})"));
        let expected = told(&blobs, &format!("SELECT {} FROM x", pieces.join(" || '-' || ")));
        let untyped = load_into(&home, "CREATE TABLE x (u, l)").unwrap();
        prop_assert_eq!(&told(&untyped, "SELECT u FROM x"), &expected);
        for declared_as in ["TEXT", "UUID", "VARCHAR(36)", "INTEGER"] {
            let there = load_into(&home, &format!("CREATE TABLE x (u {declared_as}, l TEXT)")).unwrap();
            prop_assert_eq!(&told(&there, "SELECT u FROM x"), &expected, "{}", declared_as);
            drop(there);
            let new = load_as(&home, "u", declared_as).unwrap();
            prop_assert_eq!(&told(&new, "SELECT u FROM x"), &expected, "{}", declared_as);
        }
        let there = load_into(&home, "CREATE TABLE x (u BLOB, l TEXT)").unwrap();
        prop_assert_eq!(told(&there, "SELECT u FROM x"), bytes.iter().map(hex).collect::<Vec<_>>());
        drop(there);
        fs::remove_file(home.path("x.db")).unwrap();
        let plain = load(&home, |load| load).unwrap();
        prop_assert_eq!(declared(&plain), ["'u TEXT'", "'l TEXT'"]);
        prop_assert_eq!(&told(&plain, "SELECT u FROM x"), &expected);
        prop_assert_eq!(&told(&plain, "SELECT json_extract(l, '$[0]') FROM x"), &expected);
    }
}

#[test]
fn the_parts_of_a_parquet_interval_are_read_as_unsigned_integers() {
    let home = Home::new();
    let values = vec![interval(u32::MAX, u32::MAX, u32::MAX), interval(14, 0, 0), interval(0, 0, 0)];
    let schema = "message m { required fixed_len_byte_array(12) c (INTERVAL); }";
    write(&home.path("x.dat"), schema, &[(Leaf::Fixed(values), &[], &[])]);
    let db = load(&home, |load| load).unwrap();
    let expected = ["'P4294967295M4294967295DT4294967.295S'", "'P14M'", "'PT0S'"];
    assert_eq!(told(&db, "SELECT c FROM x"), expected);
}

#[test]
fn parquet_binaries_without_annotation_are_text_in_a_column_declared_as_text() {
    let home = Home::new();
    let values = ["a", "", "é", "longer than the twelve bytes that stand in a view"];
    let values: Vec<_> = values.iter().map(|text| text.as_bytes().to_vec()).collect();
    let schema = "message m { required binary b; required binary m (BSON); }";
    let leaves = [(Leaf::Bytes(values.clone()), &[][..], &[][..]), (Leaf::Bytes(values), &[], &[])];
    write(&home.path("x.dat"), schema, &leaves);
    let plain = load(&home, |load| load).unwrap();
    assert_eq!(declared(&plain), ["'b BLOB'", "'m BLOB'"]);
    let texts = told(&plain, "SELECT CAST(b AS TEXT) FROM x");
    let blobs = told(&plain, "SELECT b FROM x");
    drop(plain);
    for (declared_as, expected) in [("TEXT", &texts), ("VARCHAR(9)", &texts), ("BLOB", &blobs)] {
        let new = load_as(&home, "b", declared_as).unwrap();
        assert_eq!(told(&new, "SELECT b FROM x"), *expected, "{declared_as}");
        assert_eq!(told(&new, "SELECT m FROM x"), blobs);
        drop(new);
        let there = load_into(&home, &format!("CREATE TABLE x (m TEXT, b {declared_as})")).unwrap();
        assert_eq!(told(&there, "SELECT b FROM x"), *expected, "{declared_as}");
        // A value stays a BLOB if Parquet annotates its column as another type than text, here BSON.
        assert_eq!(told(&there, "SELECT m FROM x"), blobs);
    }
    let there = load_into(&home, "CREATE TABLE x (m BLOB, b TEXT) STRICT").unwrap();
    assert_eq!(told(&there, "SELECT b FROM x"), texts);
}

#[test]
fn parquet_binaries_that_are_not_utf8_are_bad_rows_in_a_column_declared_as_text() {
    let home = Home::new();
    let values = vec![b"good".to_vec(), b"caf\xe9".to_vec(), b"last".to_vec()];
    write(&home.path("x.dat"), "message m { required binary b; }", &[(Leaf::Bytes(values), &[], &[])]);
    let error = load_as(&home, "b", "TEXT").unwrap_err();
    assert!(error.starts_with("x.dat: column b: byte 3 of a text, 0xe9"), "{error}");
    assert!(error.contains("(row 2)"), "{error}");
    let db = load(&home, |load| load.types([("b", "TEXT")]).reject(home.path("r.csv"))).unwrap();
    assert_eq!(told(&db, "SELECT rowid, b FROM x"), ["1 'good'", "3 'last'"]);
}

#[test]
fn parquet_columns_beside_a_group_without_members_are_read() {
    let schema = "message m {
        required group e { }
        required int64 a;
        optional group f { }
        required group s { required int64 x; optional group g { } required group h { required group i { } } }
        required binary t (UTF8);
    }";
    let home = Home::new();
    let texts = ["p", "q", "r"].map(|text| text.as_bytes().to_vec()).to_vec();
    let leaves = [
        (Leaf::Ints(vec![1, 2, 3]), &[][..], &[][..]),
        (Leaf::Ints(vec![4, 5, 6]), &[], &[]),
        (Leaf::Bytes(texts), &[], &[]),
    ];
    write(&home.path("x.dat"), schema, &leaves);
    let db = load(&home, |load| load).unwrap();
    assert_eq!(declared(&db), ["'e TEXT'", "'a INTEGER'", "'f TEXT'", "'s TEXT'", "'t TEXT'"]);
    assert_eq!(
        told(&db, "SELECT * FROM x"),
        [r#"'{}' 1 - '{"x":4}' 'p'"#, r#"'{}' 2 - '{"x":5}' 'q'"#, r#"'{}' 3 - '{"x":6}' 'r'"#]
    );
    drop(db);
    for (names, expected) in
        [(vec!["t", "e"], "'p' '{}'"), (vec!["f"], "-"), (vec!["a"], "1"), (vec!["e", "f"], "'{}' -")]
    {
        fs::remove_file(home.path("x.db")).unwrap();
        let db = load(&home, |load| load.columns(names.clone())).unwrap();
        let rows = told(&db, &format!("SELECT {} FROM x", names.join(", ")));
        assert_eq!((rows.len(), &*rows[0]), (3, expected), "{names:?}");
    }
}

#[test]
fn decimals_of_more_than_18_digits_are_numbers_if_numbers_hold_the_values_of_their_column() {
    let of = |value: i128, bytes: usize| value.to_be_bytes()[16 - bytes..].to_vec();
    for (scale, values, column_type, expected) in [
        (
            0,
            [i128::from(i64::MAX), i128::from(i64::MIN)],
            "INTEGER",
            "9223372036854775807 -9223372036854775808",
        ),
        (0, [i128::from(i64::MAX) + 1, 7], "TEXT", "'9223372036854775808' '7'"),
        (2, [1230, -7], "REAL", "12.3 -0.07"),
        (2, [1_234_567_890_123_456_789_030, -7], "TEXT", "'12345678901234567890.30' '-0.07'"),
    ] {
        for (kind, leaf) in [
            ("binary", Leaf::Bytes(values.map(|value| of(value, 12)).to_vec())),
            ("fixed_len_byte_array(16)", Leaf::Fixed(values.map(|value| of(value, 16)).to_vec())),
        ] {
            let home = Home::new();
            let schema = format!("message m {{ required {kind} d (DECIMAL(28, {scale})); }}");
            write(&home.path("x.dat"), &schema, &[(leaf, &[], &[])]);
            let db = load(&home, |load| load).unwrap();
            assert_eq!(declared(&db), [format!("'d {column_type}'")], "{kind} {values:?}");
            assert_eq!(told(&db, "SELECT d FROM x").join(" "), expected, "{kind}");
        }
    }
}
