//! Parquet columns whose values need more than their bytes to be understood: intervals.
#![cfg(feature = "parquet")]

use std::fs::File;
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

/// The values of a leaf that are there.
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
}

#[test]
fn the_parts_of_an_interval_have_no_sign() {
    let home = Home::new();
    let values = vec![interval(u32::MAX, u32::MAX, u32::MAX), interval(14, 0, 0), interval(0, 0, 0)];
    let schema = "message m { required fixed_len_byte_array(12) c (INTERVAL); }";
    write(&home.path("x.dat"), schema, &[(Leaf::Fixed(values), &[], &[])]);
    let db = load(&home, |load| load).unwrap();
    let expected = ["'P4294967295M4294967295DT4294967.295S'", "'P14M'", "'PT0S'"];
    assert_eq!(told(&db, "SELECT c FROM x"), expected);
}
