//! Parquet and Arrow files that are unusual, damaged or larger than they look: they are read as they are meant, or refused with the
//! reason.
#![cfg(feature = "parquet")]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use crate::support::columnar::{ALL, Container, batch, load, told};
use crate::support::files::Home;
use arrow_array::builder::*;
use arrow_array::types::*;
use arrow_array::*;
use arrow_ipc::{
    Endianness, FieldBuilder, FooterBuilder, IntBuilder, MessageBuilder, MessageHeader, MetadataVersion,
    SchemaBuilder, Type,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use flatbuffers::FlatBufferBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type as ParquetInt64};
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use rusqlite::Connection;
use sqluice::load::Load;
use sqluice::source::arrow::{ArrowOptions, DecimalAs};

/// Returns an Arrow schema of one column of timestamps in seconds, in base64 as in Parquet metadata, without its last `cut` characters.
fn encoded_schema(cut: usize) -> String {
    let schema = Schema::new(vec![Field::new("t", DataType::Timestamp(TimeUnit::Second, None), true)]);
    let encoded = parquet::arrow::encode_arrow_schema(&schema);
    encoded[..encoded.len() - cut].to_owned()
}

#[test]
fn an_unreadable_arrow_schema_leaves_the_types_to_the_parquet_schema() {
    let good = encoded_schema(0);
    // The schema is not aligned, as nanoparquet writes it: it begins two bytes later.
    let unaligned = format!("{}AAAA{}", &good[..12], &good[12..]);
    let hints = [
        "".to_owned(),
        "no base64!".to_owned(),
        "AAAA".to_owned(),
        encoded_schema(40),
        unaligned,
        good.replace('A', "B"),
    ];
    for hint in hints {
        let home = Home::new();
        let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![KeyValue::new(
            ARROW_SCHEMA_META_KEY.to_owned(),
            hint.clone(),
        )]));
        let options =
            ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
        let rows = batch(vec![
            ("t", Arc::new(TimestampMillisecondArray::from(vec![Some(1500), None])) as ArrayRef),
            ("s", Arc::new(StringArray::from(vec!["é", ""]))),
        ]);
        let file = File::create(home.path("x.dat")).unwrap();
        let mut writer = ArrowWriter::try_new_with_options(file, rows.schema(), options).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        let db = load(&home, |load| load).unwrap_or_else(|error| panic!("{hint:?}: {error}"));
        assert_eq!(told(&db, "SELECT t, s FROM x"), ["'1970-01-01 00:00:01.500' 'é'", "- ''"], "{hint:?}");
    }
}

#[test]
fn parquet_files_with_empty_row_groups_are_read() {
    for groups in [vec![0], vec![0, 2], vec![2, 0, 0, 3], vec![1, 0]] {
        let home = Home::new();
        let schema = Arc::new(parse_message_type("message m { required int64 a; }").unwrap());
        let file = File::create(home.path("x.dat")).unwrap();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
        for rows in &groups {
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ParquetInt64>().write_batch(&vec![7; *rows], None, None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        writer.close().unwrap();
        let db = load(&home, |load| load).unwrap();
        let rows: usize = groups.iter().sum();
        assert_eq!(
            told(&db, "SELECT count(*), total(a) FROM x"),
            [format!("{rows} {:?}", 7.0 * rows as f64)]
        );
    }
}

/// Returns a stream or a file with a column `a` of 32-bit integers, 1 and 2. Its metadata state this byte order of numbers, and this
/// version of the format.
fn marked(container: Container, order: Endianness, version: MetadataVersion) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let name = builder.create_string("a");
    let mut int = IntBuilder::new(&mut builder);
    int.add_bitWidth(32);
    int.add_is_signed(true);
    let int = int.finish();
    let mut field = FieldBuilder::new(&mut builder);
    field.add_name(name);
    field.add_nullable(true);
    field.add_type_type(Type::Int);
    field.add_type_(int.as_union_value());
    let field = field.finish();
    let fields = builder.create_vector(&[field]);
    let mut schema = SchemaBuilder::new(&mut builder);
    schema.add_endianness(order);
    schema.add_fields(fields);
    let schema = schema.finish();
    if container == Container::File {
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(version);
        footer.add_schema(schema);
        let footer = footer.finish();
        builder.finish(footer, None);
        let footer = builder.finished_data();
        return [b"ARROW1\0\0", footer, &(footer.len() as u32).to_le_bytes(), b"ARROW1"].concat();
    }
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(version);
    message.add_header_type(MessageHeader::Schema);
    message.add_header(schema.as_union_value());
    let message = message.finish();
    builder.finish(message, None);
    let message = builder.finished_data();
    // The record batch that follows the schema in the stream.
    let mut usual = Vec::new();
    let rows = batch(vec![("a", Arc::new(Int32Array::from(vec![1, 2])))]);
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut usual, &rows.schema()).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    let length = u32::from_le_bytes(usual[4..8].try_into().unwrap()) as usize;
    [&[0xff; 4], &(message.len() as u32).to_le_bytes()[..], message, &usual[8 + length..]].concat()
}

#[test]
fn arrow_files_with_another_byte_order_or_an_unsupported_version_are_refused_by_name() {
    for container in [Container::Stream, Container::File] {
        let refused = |order, version| {
            let home = Home::new();
            fs::write(home.path("x.dat"), marked(container, order, version)).unwrap();
            load(&home, |load| load).map(|db| told(&db, "SELECT a FROM x"))
        };
        let (little, big) = (Endianness::Little, Endianness::Big);
        let rows = if container == Container::Stream { vec!["1".to_owned(), "2".to_owned()] } else { vec![] };
        assert_eq!(refused(little, MetadataVersion::V5).unwrap(), rows);
        let error = refused(big, MetadataVersion::V5).unwrap_err();
        let what = "x.dat: its numbers are big-endian, and only little-endian ones are supported";
        assert!(error.starts_with(what), "{error}");
        let error = refused(Endianness(7), MetadataVersion::V5).unwrap_err();
        assert_eq!(error, "x.dat: its numbers are of the unknown byte order 7");
        let error = refused(little, MetadataVersion(9)).unwrap_err();
        assert!(error.contains("the unknown version 10; versions 4 and 5 are supported"), "{error}");
        let error = refused(little, MetadataVersion::V3).unwrap_err();
        assert!(error.contains("version 3, from before 2018"), "{error}");
    }
}

#[test]
fn a_decimal_with_more_digits_than_its_type_is_a_bad_row_unless_it_is_text() {
    for container in [Container::File, Container::Stream] {
        for (precision, scale, values) in
            [(5, 2, [12345, 123_456]), (5, 0, [99_999, -100_000]), (5, -1, [1, 1 << 40])]
        {
            let home = Home::new();
            let numbers = Decimal128Array::from(values.to_vec());
            // The Arrow type declares the digits without a check of the values.
            let numbers = numbers.with_precision_and_scale(precision, scale).unwrap();
            container.write(&home.path("x.dat"), &[batch(vec![("d", Arc::new(numbers))])], 9);
            let error = load(&home, |load| load).unwrap_err();
            assert!(
                error.contains(&format!(
                    "has more digits than its type, Decimal128({precision}, {scale}), allows (row 2)"
                )),
                "{error}"
            );
            let text = ArrowOptions::new().decimal(DecimalAs::Text);
            let db = load(&home, |load| load.arrow(text)).unwrap();
            let digits = |text: &String| text.bytes().filter(u8::is_ascii_digit).count();
            assert_eq!(told(&db, "SELECT d FROM x").iter().map(digits).max().unwrap(), {
                let digits = values[1].abs().to_string().len();
                digits + usize::from(scale < 0)
            });
            drop(db);
            fs::remove_file(home.path("x.db")).unwrap();
            let db = load(&home, |load| load.reject(home.path("r.csv"))).unwrap();
            assert_eq!(told(&db, "SELECT count(*) FROM x"), ["1"]);
        }
    }
}

#[test]
fn the_setting_lossy_stores_unsigned_integers_beyond_i64_as_floats() {
    for container in ALL {
        let home = Home::new();
        let numbers = UInt64Array::from(vec![Some(1), None, Some(u64::MAX), Some(i64::MAX as u64)]);
        container.write(&home.path("x.dat"), &[batch(vec![("u", Arc::new(numbers))])], 9);
        let db = load(&home, |load| load.lossy(true)).unwrap();
        assert_eq!(told(&db, "SELECT u FROM x").join(" "), "1 - 1.8446744073709552e19 9223372036854775807");
        // SQLite rounds the same integers to the same floats.
        assert_eq!(told(&db, "SELECT CAST('18446744073709551615' AS NUMERIC)"), ["1.8446744073709552e19"]);
    }
}

#[test]
fn nan_and_infinities_are_null_in_nested_values_and_dates_beyond_9999_make_bad_rows() {
    for container in ALL {
        let home = Home::new();
        let reals = vec![Some(1.5), Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY)];
        let lists =
            ListArray::from_iter_primitive::<Float64Type, _, _>(vec![Some(reals), None, Some(vec![])]);
        let dates = ListArray::from_iter_primitive::<Date32Type, _, _>(vec![
            Some(vec![Some(0)]),
            None,
            Some(vec![Some(0), Some(i32::MAX), None]),
        ]);
        let mut maps = MapBuilder::new(None, Float32Builder::new(), TimestampMicrosecondBuilder::new());
        for value in [0, 1, i64::MAX] {
            maps.keys().append_value(f32::INFINITY);
            maps.values().append_value(value);
            maps.append(true).unwrap();
        }
        let rows =
            batch(vec![("f", Arc::new(lists)), ("d", Arc::new(dates)), ("m", Arc::new(maps.finish()))]);
        container.write(&home.path("x.dat"), &[rows], 9);
        let error = load(&home, |load| load).unwrap_err();
        assert_eq!(error, "x.dat: column d: 2147483647 of type Date32 is beyond the years 0 to 9999 (row 3)");
        let only_maps = |load: Load| load.columns(["m"]);
        let error = load(&home, only_maps).unwrap_err();
        assert!(
            error.contains("column m: 9223372036854775807 of type Timestamp(µs) is beyond the years"),
            "{error}"
        );
        let db = load(&home, |load| load.reject(home.path("r.csv"))).unwrap();
        assert_eq!(
            told(&db, "SELECT * FROM x"),
            [
                r#"'[1.5,null,null,null]' '["1970-01-01"]' '{"null":"1970-01-01 00:00:00"}'"#,
                r#"- - '{"null":"1970-01-01 00:00:00.000001"}'"#
            ]
        );
        assert_eq!(told(&db, "SELECT json_valid(f) FROM x WHERE f IS NOT NULL"), ["1"]);
        let rejects = fs::read_to_string(home.path("r.csv")).unwrap();
        assert!(rejects.contains("2147483647"), "{rejects}");
    }
}

/// Writes a file of one row group, whose first column is written by `write`.
fn write_column(
    path: &Path,
    schema: &str,
    properties: WriterProperties,
    write: impl FnOnce(&mut SerializedColumnWriter<'_>),
) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    write(&mut column);
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn parquet_json_and_columns_declared_as_text_by_the_arrow_schema_must_be_utf8() {
    let texts = ["\"a\"", "caf\u{0}", "\"é\""].map(|text| match text {
        "caf\u{0}" => ByteArray::from(b"\"caf\xe9\"".to_vec()),
        text => ByteArray::from(text),
    });
    let arrow = Schema::new(vec![Field::new("s", DataType::Utf8, false)]);
    let arrow = KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), parquet::arrow::encode_arrow_schema(&arrow));
    for (schema, hint) in [
        ("message m { required binary s (JSON); }", None),
        ("message m { required binary s; }", Some(vec![arrow])),
    ] {
        for dictionary in [true, false] {
            let home = Home::new();
            let properties = WriterProperties::builder()
                .set_dictionary_enabled(dictionary)
                .set_key_value_metadata(hint.clone())
                .build();
            write_column(&home.path("x.dat"), schema, properties, |column| {
                column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
            });
            let error = load(&home, |load| load).unwrap_err();
            assert!(error.contains("column s: byte 4 of a text, 0xe9"), "{error}");
            assert!(error.contains("(row 2)"), "{error}");
            let db = load(&home, |load| load.reject(home.path("r.csv"))).unwrap();
            assert_eq!(told(&db, "SELECT rowid, s FROM x"), ["1 '\"a\"'", "3 '\"é\"'"]);
        }
    }
}

#[test]
fn parquet_text_that_is_not_utf8_makes_a_bad_row() {
    for dictionary in [true, false] {
        let home = Home::new();
        let properties = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
        let texts: Vec<ByteArray> = ["good", "é", "caf\u{0}", "é", "last"]
            .iter()
            .map(|text| match *text {
                "caf\u{0}" => ByteArray::from(b"caf\xe9 au lait".to_vec()),
                text => ByteArray::from(text),
            })
            .collect();
        write_column(
            &home.path("x.dat"),
            "message m { required binary s (UTF8); }",
            properties.clone(),
            |column| {
                column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
            },
        );
        let error = load(&home, |load| load).unwrap_err();
        assert!(error.starts_with("x.dat: column s: byte 3 of a text, 0xe9"), "{error}");
        assert!(error.contains("(row 3)"), "{error}");
        let db = load(&home, |load| load.reject(home.path("r.csv"))).unwrap();
        assert_eq!(told(&db, "SELECT rowid, s FROM x"), ["1 'good'", "2 'é'", "4 'é'", "5 'last'"]);
        let rejects = fs::read_to_string(home.path("r.csv")).unwrap();
        assert!(rejects.contains("au lait") && rejects.contains("column s"), "{rejects}");
        // A text in a list that is not UTF-8 is refused in the same way.
        let home = Home::new();
        let schema = "message m { repeated binary s (UTF8); }";
        write_column(&home.path("x.dat"), schema, properties, |column| {
            let levels = ([1; 5], [0, 1, 0, 0, 1]);
            column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels.0), Some(&levels.1)).unwrap();
        });
        let db = load(&home, |load| load.reject(home.path("r.csv"))).unwrap();
        assert_eq!(told(&db, "SELECT rowid, s FROM x"), [r#"1 '["good","é"]'"#, r#"3 '["é","last"]'"#]);
    }
}

#[test]
fn a_parquet_dictionary_offset_of_0_of_old_writers_is_read_as_no_dictionary() {
    // Old writers give a missing dictionary the offset 0.
    let home = Home::new();
    write_column(
        &home.path("x.dat"),
        "message m { repeated int64 a; }",
        WriterProperties::builder().set_dictionary_enabled(false).build(),
        |column| {
            let levels = ([1, 1, 0, 1], [0, 1, 0, 0]);
            column.typed::<ParquetInt64>().write_batch(&[1, 2, 3], Some(&levels.0), Some(&levels.1)).unwrap();
        },
    );
    let bytes = fs::read(home.path("x.dat")).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(bytes.clone())).unwrap();
    let column = metadata.row_group(0).column(0).clone();
    let column = column.into_builder().set_dictionary_page_offset(Some(0)).build().unwrap();
    let group =
        metadata.row_group(0).clone().into_builder().set_column_metadata(vec![column]).build().unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let mut rewritten = bytes[..bytes.len() - 8 - footer].to_vec();
    let mut tail = Vec::new();
    ParquetMetaDataWriter::new(&mut tail, &metadata).finish().unwrap();
    rewritten.extend(tail);
    fs::write(home.path("x.dat"), rewritten).unwrap();
    let db = load(&home, |load| load).unwrap();
    // A repeated field without an annotation is a list.
    assert_eq!(told(&db, "SELECT a FROM x"), ["'[1,2]'", "'[]'", "'[3]'"]);
}

/// Returns the bytes of a message of Arrow with the counts of its buffers at a place that is no multiple of 8 bytes. The message is
/// longer by a multiple of 8 bytes.
fn unaligned(message: &[u8]) -> Vec<u8> {
    let mut metadata = message[8..].to_vec();
    let number = |at: usize| u32::from_le_bytes(metadata[at..at + 4].try_into().unwrap()) as usize;
    let referred = |at: usize| at + number(at);
    let field = |table: usize, index: usize| {
        let places = table - number(table);
        table + usize::from(u16::from_le_bytes(metadata[places + 4 + 2 * index..][..2].try_into().unwrap()))
    };
    let counts = field(referred(field(referred(0), 2)), 4);
    let list = referred(counts);
    let list = metadata[list..list + 4 + 8 * number(list)].to_vec();
    while !metadata.len().is_multiple_of(8) {
        metadata.push(0);
    }
    let offset = (metadata.len() - counts) as u32;
    metadata[counts..counts + 4].copy_from_slice(&offset.to_le_bytes());
    metadata.extend(list);
    metadata.extend([0; 4]);
    [&[0xff; 4], &(metadata.len() as u32).to_le_bytes()[..], &metadata].concat()
}

/// Returns the offset at which the message at `at` of a stream or a file ends, without the body of the message.
fn end_of_message(bytes: &[u8], at: usize) -> usize {
    at + 8 + u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize
}

#[test]
fn arrow_files_with_unaligned_buffer_counts_are_read() {
    let long = "longer than the twelve bytes that stand in a view";
    for columns in 1..5 {
        let texts = [Some("é"), None, Some(long), Some("")];
        let rows = (0..columns).map(|column| {
            let texts: ArrayRef = match column % 2 {
                0 => Arc::new(StringViewArray::from(texts.to_vec())),
                _ => Arc::new(BinaryViewArray::from(
                    texts.iter().map(|text| text.map(str::as_bytes)).collect::<Vec<_>>(),
                )),
            };
            (format!("c{column}"), texts)
        });
        let rows = RecordBatch::try_from_iter_with_nullable(rows.map(|(name, array)| (name, array, true)));
        let rows = rows.unwrap();
        for container in [Container::Stream, Container::File] {
            let home = Home::new();
            container.write(&home.path("x.dat"), std::slice::from_ref(&rows), 9);
            let expected = told(&load(&home, |load| load).unwrap(), "SELECT * FROM x");
            let bytes = fs::read(home.path("x.dat")).unwrap();
            // The message of the schema comes first. The next message gets its counts of buffers at an unaligned place.
            let schema_at = bytes.windows(4).position(|window| window == [0xff; 4]).unwrap();
            let start = end_of_message(&bytes, schema_at);
            let end = end_of_message(&bytes, start);
            let moved = unaligned(&bytes[start..end]);
            let mut rest = bytes[end..].to_vec();
            if container == Container::File {
                // The footer has the place and the length of the message.
                let block = |length: usize| {
                    [&(start as u64).to_le_bytes()[..], &(length as u32).to_le_bytes()].concat()
                };
                let known = block(end - start);
                let at = rest.windows(known.len()).position(|window| window == known).unwrap();
                rest[at..at + known.len()].copy_from_slice(&block(moved.len()));
            }
            fs::write(home.path("x.dat"), [&bytes[..start], &moved, &rest].concat()).unwrap();
            fs::remove_file(home.path("x.db")).unwrap();
            let db = load(&home, |load| load).unwrap_or_else(|error| panic!("{container:?}: {error}"));
            assert_eq!(told(&db, "SELECT * FROM x"), expected, "{container:?}");
        }
    }
}

#[test]
fn unknown_types_of_a_parquet_schema_are_named() {
    let home = Home::new();
    let properties = WriterProperties::builder().build();
    write_column(&home.path("x.dat"), "message m { required binary text (UTF8); }", properties, |column| {
        column.typed::<ByteArrayType>().write_batch(&[ByteArray::from("x")], None, None).unwrap();
    });
    let mut bytes = fs::read(home.path("x.dat")).unwrap();
    let at = bytes.windows(8).position(|window| window == b"\x18\x04text\x25\x00").unwrap();
    bytes[at + 7] = 60;
    fs::write(home.path("x.dat"), bytes).unwrap();
    let error = load(&home, |load| load).unwrap_err();
    assert!(
        error.starts_with("x.dat: column text has the unknown converted type 30, which is not supported"),
        "{error}"
    );
}

/// Loads `x.dat` with a memory limit of `memory_mib` MiB.
fn load_within(home: &Home, memory_mib: u64) -> Result<Connection, String> {
    load(home, |load| {
        let write = load.write.clone().memory_bytes(memory_mib << 20).threads(1);
        load.write(write)
    })
}

#[test]
fn a_file_that_decodes_to_more_than_the_memory_is_refused_and_the_hint_names_the_needed_memory() {
    let (text, packed) = ("x".repeat(9 << 20), "x".repeat(34 << 20));
    for container in ALL {
        let home = Home::new();
        let keys = Int32Array::from(vec![0; 30]);
        let words = DictionaryArray::new(keys, Arc::new(StringArray::from(vec![text.as_str()])));
        container.write(&home.path("x.dat"), &[batch(vec![("w", Arc::new(words))])], 4000);
        let error = load_within(&home, 64).unwrap_err();
        assert!(error.contains("would take at least 9.4 MB of memory, and the limit is 8.4 MB"), "{error}");
        assert!(error.contains("`memory = 72MiB`"), "{error}");
        // Compressed data are refused before they are decompressed.
        let home = Home::new();
        match container {
            Container::Parquet => {
                let rows = batch(vec![("w", Arc::new(StringArray::from(vec![packed.as_str()])))]);
                for codec in [
                    Compression::SNAPPY,
                    Compression::GZIP(Default::default()),
                    Compression::ZSTD(Default::default()),
                    Compression::BROTLI(Default::default()),
                    Compression::LZ4_RAW,
                    Compression::LZ4,
                ] {
                    let properties = WriterProperties::builder().set_compression(codec).build();
                    let file = File::create(home.path("x.dat")).unwrap();
                    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
                    writer.write(&rows).unwrap();
                    writer.close().unwrap();
                    let error = load_within(&home, 32).unwrap_err();
                    assert!(error.contains("of memory, and the limit is 33.6 MB"), "{codec:?}: {error}");
                    assert!(error.contains("`memory = "), "{error}");
                }
            }
            _ => {
                let rows = batch(vec![("w", Arc::new(StringArray::from(vec![packed.as_str()])))]);
                let options = arrow_ipc::writer::IpcWriteOptions::default()
                    .try_with_compression(Some(arrow_ipc::CompressionType::ZSTD))
                    .unwrap();
                let file = File::create(home.path("x.dat")).unwrap();
                let mut writer =
                    arrow_ipc::writer::StreamWriter::try_new_with_options(file, &rows.schema(), options)
                        .unwrap();
                writer.write(&rows).unwrap();
                writer.finish().unwrap();
                let error = load_within(&home, 32).unwrap_err();
                assert!(
                    error.contains("a record batch, decompressed, would take at least 35.7 MB"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn rows_that_together_exceed_the_memory_are_read_a_few_at_a_time() {
    let text = "y".repeat(1 << 20);
    for container in ALL {
        let home = Home::new();
        let words = StringArray::from_iter_values((0..40).map(|_| text.as_str()));
        let small = StringArray::from_iter_values((0..5000).map(|n| n.to_string()));
        let rows = [batch(vec![("w", Arc::new(small) as ArrayRef)]), batch(vec![("w", Arc::new(words))])];
        container.write(&home.path("x.dat"), &rows, 6000);
        let db = load_within(&home, 32).unwrap();
        assert_eq!(
            told(&db, "SELECT count(*), sum(length(w)) FROM x"),
            [format!("5040 {}", 18_890 + 40 * text.len())]
        );
    }
}
