//! Tests of each type and each codec of Avro, of limits, and of invalid schemas.

use super::super::column::EMPTY_ITEMS_MAX;
use super::super::taken::{Cell, read};
use super::file::{block, bytes, file, header, long, of_field, packed};
use super::{MEMORY, rows, text};

/// Returns the values of one column, and the declared type of the column.
fn values(kind: &str, records: i64, data: &[u8]) -> (Option<&'static str>, Vec<Cell>) {
    let outcome = rows(kind, records, data);
    assert_eq!((outcome.error, outcome.bad), (None, vec![]), "{kind}");
    assert_eq!(outcome.columns[0].0, "v");
    (outcome.columns[0].1, outcome.rows.into_iter().map(|mut row| row.remove(0)).collect())
}

fn longs(numbers: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    numbers.iter().for_each(|number| long(*number, &mut out));
    out
}

fn text_bytes(value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    bytes(value.as_bytes(), &mut out);
    out
}

#[test]
fn primitive_types_are_stored_like_primitive_types_of_parquet() {
    let real = |real: f64| Cell::Real(real.to_bits());
    assert_eq!(values(r#""null""#, 2, b""), (None, vec![Cell::Null; 2]));
    assert_eq!(values(r#""boolean""#, 2, &[1, 0]), (Some("INTEGER"), vec![Cell::Int(1), Cell::Int(0)]));
    let extremes = [i32::MIN, -1, 0, i32::MAX].map(i64::from);
    assert_eq!(values(r#""int""#, 4, &longs(&extremes)), (Some("INTEGER"), extremes.map(Cell::Int).to_vec()));
    let extremes = [i64::MIN, -1, 0, i64::MAX];
    assert_eq!(
        values(r#""long""#, 4, &longs(&extremes)),
        (Some("INTEGER"), extremes.map(Cell::Int).to_vec())
    );
    assert_eq!(values(r#""float""#, 1, &1.5f32.to_le_bytes()), (Some("REAL"), vec![real(1.5)]));
    assert_eq!(values(r#""double""#, 1, &0.1f64.to_le_bytes()), (Some("REAL"), vec![real(0.1)]));
    assert_eq!(values(r#""bytes""#, 1, &[6, 1, 2, 3]), (Some("BLOB"), vec![Cell::Blob(vec![1, 2, 3])]));
    assert_eq!(values(r#""string""#, 1, &text_bytes("Zoë")), (Some("TEXT"), vec![text("Zoë")]));
    let fixed = r#"{"type":"fixed","name":"f","size":2}"#;
    assert_eq!(values(fixed, 1, &[7, 8]), (Some("BLOB"), vec![Cell::Blob(vec![7, 8])]));
    let letters = r#"{"type":"enum","name":"e","symbols":["A","B"]}"#;
    assert_eq!(values(letters, 2, &[2, 0]), (Some("TEXT"), vec![text("B"), text("A")]));
}

#[test]
fn logical_types_are_stored_like_logical_types_of_parquet() {
    for (kind, logical, number, expected) in [
        ("int", "date", 19782, "2024-02-29"),
        ("int", "time-millis", 86_399_999, "23:59:59.999"),
        ("long", "time-micros", 1, "00:00:00.000001"),
        ("long", "timestamp-millis", 1_709_164_800_123, "2024-02-29 00:00:00.123+00:00"),
        ("long", "timestamp-micros", -1, "1969-12-31 23:59:59.999999+00:00"),
        ("long", "timestamp-nanos", 1, "1970-01-01 00:00:00.000000001+00:00"),
        ("long", "local-timestamp-millis", 0, "1970-01-01 00:00:00"),
        ("long", "local-timestamp-micros", 1, "1970-01-01 00:00:00.000001"),
        ("long", "local-timestamp-nanos", -1, "1969-12-31 23:59:59.999999999"),
    ] {
        let kind = format!(r#"{{"type":"{kind}","logicalType":"{logical}"}}"#);
        assert_eq!(values(&kind, 1, &longs(&[number])), (Some("TEXT"), vec![text(expected)]), "{logical}");
    }
    let id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let uuid = r#"{"type":"string","logicalType":"uuid"}"#;
    assert_eq!(values(uuid, 1, &text_bytes(id)), (Some("TEXT"), vec![text(id)]));
    let uuid = r#"{"type":"fixed","name":"u","size":16,"logicalType":"uuid"}"#;
    assert_eq!(values(uuid, 1, &[9; 16]), (Some("BLOB"), vec![Cell::Blob(vec![9; 16])]));
    let duration = r#"{"type":"fixed","name":"d","size":12,"logicalType":"duration"}"#;
    let data = [1, 0, 0, 0, 2, 0, 0, 0, 0xdc, 5, 0, 0];
    assert_eq!(values(duration, 1, &data), (Some("TEXT"), vec![text("P1M2DT1.500S")]));
}

#[test]
fn avro_decimals_become_numbers_unless_digits_would_be_lost() {
    let of_bytes = |precision: u32, scale: u32| {
        format!(r#"{{"type":"bytes","logicalType":"decimal","precision":{precision},"scale":{scale}}}"#)
    };
    let data = [2, 0x85, 4, 0x00, 0x85, 6, 0xff, 0xff, 0x85, 0];
    let expected = [-1.23, 1.33, -1.23, 0.0].map(|real: f64| Cell::Real(real.to_bits()));
    assert_eq!(values(&of_bytes(9, 2), 4, &data), (Some("NUMERIC"), expected.to_vec()));
    let expected = [-123, 133, -123, 0].map(Cell::Int);
    assert_eq!(values(&of_bytes(9, 0), 4, &data), (Some("INTEGER"), expected.to_vec()));
    let expected = ["-1.23", "1.33", "-1.23", "0.00"].map(text);
    for precision in [20, 39, 76] {
        assert_eq!(values(&of_bytes(precision, 2), 4, &data), (Some("TEXT"), expected.to_vec()));
    }
    let fixed = r#"{"type":"fixed","name":"d","size":20,"logicalType":"decimal","precision":40,"scale":1}"#;
    let mut data = vec![0xff; 20];
    assert_eq!(values(fixed, 1, &data).1, [text("-0.1")]);
    data[0] = 0x80;
    assert_eq!(values(fixed, 1, &data).1, [text("-72504182789462761957760927248034352928243528499.3")]);
    // A logical type that does not fit its type is ignored.
    for ignored in [of_bytes(0, 0), of_bytes(2, 3), r#"{"type":"bytes","logicalType":"decimal"}"#.to_owned()]
    {
        assert_eq!(values(&ignored, 1, &[2, 5]), (Some("BLOB"), vec![Cell::Blob(vec![5])]));
    }
    let error = rows(&of_bytes(77, 2), 0, b"").error.unwrap();
    assert!(error.contains("decimals of 77 digits"), "{error}");
    let error = rows(&of_bytes(20, 2), 1, &[&[34][..], &[1; 17]].concat()).error.unwrap();
    assert!(error.contains("a decimal has more digits than its type"), "{error}");
}

#[test]
fn a_union_of_null_and_a_type_is_stored_as_the_type() {
    assert_eq!(
        values(r#"["null","int"]"#, 3, &[2, 14, 0, 2, 1]),
        (Some("INTEGER"), vec![Cell::Int(7), Cell::Null, Cell::Int(-1)])
    );
    assert_eq!(
        values(r#"["int","null"]"#, 2, &[2, 0, 14]),
        (Some("INTEGER"), vec![Cell::Null, Cell::Int(7)])
    );
    assert_eq!(values(r#"["int"]"#, 1, &[0, 14]), (Some("INTEGER"), vec![Cell::Int(7)]));
    assert_eq!(
        values(r#"["null","int","string"]"#, 4, &[0, 2, 14, 4, 2, b'x', 4, 0]),
        (Some("TEXT"), vec![Cell::Null, text("7"), text("\"x\""), text("\"\"")])
    );
}

#[test]
fn nested_avro_values_become_json_text() {
    let kind = r#"["null",{"type":"record","name":"p","fields":[
        {"name":"x","type":["null","double"]},
        {"name":"tags","type":{"type":"map","values":{"type":"array","items":"int"}}},
        {"name":"day","type":{"type":"int","logicalType":"date"}},
        {"name":"raw","type":["null","bytes"]}]}]"#;
    let data = [0, 2, 0, 2, 2, b'k', 4, 2, 4, 0, 0, 0, 2, 2, 0xab, 2, 0, 0, 2, 0];
    let expected = [
        Cell::Null,
        text(r#"{"x":null,"tags":{"k":[1,2]},"day":"1970-01-01","raw":"ab"}"#),
        text(r#"{"x":null,"tags":{},"day":"1970-01-02","raw":null}"#),
    ];
    assert_eq!(values(kind, 3, &data), (Some("TEXT"), expected.to_vec()));
}

#[test]
fn an_avro_schema_may_use_a_named_type_again_by_the_name() {
    let schema = r#"{"type":"record","name":"r","namespace":"a.b","fields":[
        {"name":"one","type":{"type":"enum","name":"e","symbols":["A","B"]}},
        {"name":"two","type":"e"},
        {"name":"three","type":["null","a.b.e"]},
        {"name":"four","type":{"type":"record","name":"c.q","fields":[
            {"name":"in","type":{"type":"fixed","name":"f","size":1}},
            {"name":"out","type":"a.b.e"}]}},
        {"name":"five","type":"c.f"},
        {"name":"six","type":{"type":"fixed","name":"f","namespace":"","size":2}},
        {"name":"seven","type":{"type":"record","name":"s","namespace":"","fields":[{"name":"g","type":"f"}]}}]}"#;
    let data = [0, 2, 2, 2, 9, 0, 8, 1, 2, 3, 4];
    let outcome = read(&file(schema, 1, &data), MEMORY);
    assert_eq!(outcome.error, None);
    let expected = [
        text("A"),
        text("B"),
        text("B"),
        text(r#"{"in":"09","out":"A"}"#),
        Cell::Blob(vec![8]),
        Cell::Blob(vec![1, 2]),
        text(r#"{"g":"0304"}"#),
    ];
    assert_eq!(outcome.rows, [expected]);
}

#[test]
fn avro_values_that_are_not_records_make_one_column() {
    let outcome = read(&file(r#""string""#, 2, &[&text_bytes("a")[..], &text_bytes("b")].concat()), MEMORY);
    assert_eq!(outcome.columns, [("value".to_owned(), Some("TEXT"))]);
    assert_eq!(outcome.rows, [[text("a")], [text("b")]]);
}

#[test]
fn blocks_of_four_codecs_are_decompressed_and_other_codecs_are_refused() {
    for codec in ["null", "deflate", "snappy", "zstandard"] {
        let mut file = header(&of_field(r#""long""#), codec);
        for numbers in [[1, 2].as_slice(), &[], &[3]] {
            block(numbers.len() as i64, &packed(codec, &longs(numbers)), &mut file);
        }
        let outcome = read(&file, MEMORY);
        assert_eq!((outcome.error, outcome.rows.len()), (None, 3), "{codec}");
    }
    for codec in ["bzip2", "xz", "lzo"] {
        let error = read(&header(&of_field(r#""long""#), codec), MEMORY).error.unwrap();
        assert!(error.contains(&format!("compressed with {codec}; null, deflate")), "{error}");
        assert!(error.contains("x.avro"), "{error}");
    }
}

#[test]
fn a_text_that_is_not_utf8_makes_a_bad_row() {
    let outcome = rows(r#""string""#, 3, &[2, b'a', 2, 0xff, 2, b'c']);
    assert_eq!((outcome.error, outcome.rows), (None, vec![vec![text("a")], vec![text("c")]]));
    let [error] = &outcome.bad[..] else { panic!("{:?}", outcome.bad) };
    assert!(error.contains("is not UTF-8") && error.contains("row 2"), "{error}");
}

#[test]
fn a_date_beyond_the_year_9999_makes_a_bad_row() {
    let outcome = rows(r#"{"type":"int","logicalType":"date"}"#, 2, &longs(&[i32::MAX.into(), 0]));
    assert_eq!((outcome.rows.len(), outcome.bad.len(), outcome.error), (1, 1, None));
}

#[test]
fn invalid_avro_schemas_are_refused() {
    for (schema, expected) in [
        ("{", "its schema: EOF"),
        ("7", "is not a type of Avro"),
        ("[]", "has no type"),
        (r#"["null",["int"]]"#, "contains another union"),
        (r#""node""#, "names the type node"),
        (r#"{"type":"array"}"#, "no items"),
        (r#"{"type":"fixed","name":"f","size":-1}"#, "no size"),
        (r#"{"type":"enum","name":"f","symbols":[1]}"#, "no symbols"),
        (r#"{"type":"record","fields":[]}"#, "no name"),
        (
            r#"{"type":"record","name":"node","fields":[{"name":"next","type":["null","node"]}]}"#,
            "the record node contains itself",
        ),
        (
            r#"[{"type":"fixed","name":"f","size":1},{"type":"fixed","name":"f","size":2}]"#,
            "the type f more than once",
        ),
    ] {
        let error = read(&header(schema, "null"), MEMORY).error.unwrap();
        assert!(error.contains(expected) && error.contains("x.avro"), "{schema}: {error}");
    }
}

#[test]
fn an_avro_schema_that_stands_for_too_many_or_too_deep_types_is_refused() {
    let mut fields = vec![r#"{"name":"f","type":{"type":"record","name":"r0","fields":[]}}"#.to_owned()];
    for level in 1..40 {
        let below = level - 1;
        fields.push(format!(
            r#"{{"name":"f","type":{{"type":"record","name":"r{level}","fields":[{{"name":"a","type":"r{below}"}},{{"name":"b","type":"r{below}"}}]}}}}"#
        ));
    }
    let schema = format!(r#"{{"type":"record","name":"all","fields":[{}]}}"#, fields.join(","));
    let error = read(&header(&schema, "null"), MEMORY).error.unwrap();
    assert!(error.contains("has more than 65536 types if each use of a named type counts"), "{error}");
    let deep = format!("{}\"int\"{}", r#"{"type":"array","items":"#.repeat(100), "}".repeat(100));
    let error = read(&header(&deep, "null"), MEMORY).error.unwrap();
    assert!(error.contains("types deep"), "{error}");
}

#[test]
fn more_than_a_million_items_or_records_without_bytes_are_refused() {
    let array = r#"{"type":"array","items":"null"}"#;
    let count = EMPTY_ITEMS_MAX as i64;
    for (count, is_read) in [(3, true), (count + 1, false), (i64::MAX, false), (i64::MIN, false)] {
        let mut data = longs(&[count]);
        if count < 0 {
            long(0, &mut data);
        }
        long(0, &mut data);
        assert_eq!(rows(array, 1, &data).error.is_none(), is_read, "{count}");
    }
    assert!(rows(r#""null""#, count + 1, b"").error.is_some());
}

#[test]
fn a_record_whose_values_take_too_much_memory_is_refused() {
    // Each item is NULL and takes one byte in the file. In memory, it takes as much as a record with 1000 fields.
    let fields: Vec<String> =
        (0..1000).map(|index| format!(r#"{{"name":"f{index}","type":"long"}}"#)).collect();
    let kind = format!(
        r#"{{"type":"array","items":["null",{{"type":"record","name":"w","fields":[{}]}}]}}"#,
        fields.join(",")
    );
    let mut data = longs(&[100_000]);
    data.resize(data.len() + 100_000, 0);
    long(0, &mut data);
    let error = rows(&kind, 1, &data).error.unwrap();
    assert!(error.contains("the values of a record") && error.contains("record 1, in block 1"), "{error}");
    // A NULL of a `fixed` with a great length takes no memory.
    let fixed = r#"["null",{"type":"fixed","name":"f","size":1000000000}]"#;
    assert_eq!(rows(fixed, 1000, &[0; 1000]).rows.len(), 1000);
}

#[test]
fn a_block_that_grows_beyond_the_memory_is_refused() {
    let zeros = vec![0; 32 << 20];
    for codec in ["deflate", "zstandard"] {
        let mut file = header(&of_field(r#""bytes""#), codec);
        block(zeros.len() as i64, &packed(codec, &zeros), &mut file);
        let error = read(&file, 16 << 20).error.unwrap();
        assert!(error.contains("a block, decompressed,") && error.contains("of memory"), "{codec}: {error}");
    }
    let mut file = header(&of_field(r#""bytes""#), "snappy");
    block(1, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0], &mut file);
    let error = read(&file, MEMORY).error.unwrap();
    assert!(error.contains("longer than it can be"), "{error}");
}
