//! The column-wise encoder compared with its twin, which encodes value by value: affinity, `record::encode`, `Chunk::push`.

use std::path::Path;

use crate::support::cases;
use crate::support::rows::{Owned, OwnedBatch, OwnedColumn, Takes};
use crate::support::tables::{RandomTable, page_bytes, table};
use proptest::prelude::*;
use sqluice::affinity::apply;
use sqluice::batch::Value;
use sqluice::encode::{Chunks, Coercion, Encoder};
use sqluice::error::Result;
use sqluice::schema::{Schema, Table};
use sqluice::source::{Refused, RefusedRow};
use sqluice_format::chunk::{Chunk, Leaf, Link};
use sqluice_format::page::{Geometry, PageSize};
use sqluice_format::record;

/// Everything that a chunk reports.
#[derive(Debug, PartialEq)]
struct Finished {
    rows: u64,
    leaves: Vec<Leaf>,
    links: Vec<Link>,
    bytes: Vec<u8>,
}

impl Finished {
    fn of(chunk: &mut Chunk) -> Finished {
        chunk.finish();
        Finished {
            rows: chunk.rows(),
            leaves: chunk.leaves().to_vec(),
            links: chunk.links().to_vec(),
            // The bytes without the targets of links, which are not known yet.
            bytes: {
                let mut bytes = chunk.bytes().to_vec();
                for link in chunk.links() {
                    bytes[link.at..link.at + 4].fill(0);
                }
                bytes
            },
        }
    }
}

/// A chunk that is reused, and the finished chunks. Before the chunk is reused, its bytes are overwritten with garbage.
struct Recycled {
    chunk: Chunk,
    finished: Vec<Finished>,
}

impl Chunks for Recycled {
    fn current(&mut self) -> &mut Chunk {
        &mut self.chunk
    }

    fn next(&mut self) -> Result<()> {
        self.finished.push(Finished::of(&mut self.chunk));
        self.chunk.bytes_mut().fill(0xa5);
        self.chunk.clear();
        Ok(())
    }
}

fn schema_table(ddl: &str) -> Table {
    Schema::parse(ddl.to_owned(), Path::new("test.sql")).unwrap().tables.remove(0)
}

/// Returns the chunks of the twin.
fn plain(table: &Table, geometry: Geometry, capacity: u32, rows: &[(OwnedBatch, Vec<i64>)]) -> Vec<Finished> {
    let mut finished = Vec::new();
    let mut chunk = Chunk::new(geometry, capacity);
    let mut scratch = vec![Vec::new(); table.columns.len()];
    for (batch, rowids) in rows {
        for (row, rowid) in rowids.iter().enumerate() {
            let mut values = Vec::new();
            for (index, (value, scratch)) in batch.row(row).into_iter().zip(&mut scratch).enumerate() {
                values.push(if table.rowid_alias == Some(index) {
                    Value::Null
                } else {
                    apply(value.value(), table.columns[index].affinity, scratch)
                });
            }
            let mut record = Vec::new();
            record::encode(&values, &mut record);
            if !chunk.push(*rowid, &record) {
                finished.push(Finished::of(&mut chunk));
                chunk = Chunk::new(geometry, capacity);
                assert!(chunk.push(*rowid, &record), "an empty chunk takes any row");
            }
        }
    }
    finished.push(Finished::of(&mut chunk));
    finished
}

/// Returns the chunks of the encoder. `last_rowid` is passed on as the pipeline does.
fn column_wise(
    table: &Table,
    geometry: Geometry,
    capacity: u32,
    rows: &[(OwnedBatch, Vec<i64>)],
) -> Vec<Finished> {
    let mut chunks = Recycled { chunk: Chunk::new(geometry, capacity), finished: Vec::new() };
    let mut encoder = Encoder::new(table, geometry, Coercion::All);
    let mut last = None;
    for (batch, rowids) in rows {
        let range = batch
            .with(|batch| encoder.encode(batch, rowids[0], last, &mut chunks))
            .unwrap_or_else(|refused| panic!("{refused:?}"));
        assert_eq!((range.first, range.last.rowid), (rowids[0], rowids[batch.rows - 1]));
        last = Some(range.last);
    }
    chunks.next().unwrap();
    chunks.finished
}

#[track_caller]
fn compare(ddl: &str, page_bytes: u32, capacity: u32, rows: &[(OwnedBatch, Vec<i64>)]) {
    let table = schema_table(ddl);
    let geometry = Geometry::new(PageSize::new(page_bytes).unwrap(), 0).unwrap();
    let (ours, plain) =
        (column_wise(&table, geometry, capacity, rows), plain(&table, geometry, capacity, rows));
    assert_eq!(ours.len(), plain.len(), "chunks");
    for (index, (ours, plain)) in ours.iter().zip(&plain).enumerate() {
        assert_eq!((ours.rows, &ours.leaves), (plain.rows, &plain.leaves), "chunk {index}");
        assert_eq!(ours.links, plain.links, "chunk {index}");
        if let Some(at) = ours.bytes.iter().zip(&plain.bytes).position(|(a, b)| a != b) {
            panic!(
                "chunk {index} differs at byte {} of page {}",
                at % page_bytes as usize,
                at / page_bytes as usize
            );
        }
    }
}

fn compare_random(table: &RandomTable, page_bytes: u32, capacity: u32) {
    let rows = table.rows(page_bytes as usize);
    // The columns must have the expected values.
    for (batch, _) in &rows {
        batch.with(|view| {
            for (column, owned) in view.columns.iter().zip(&batch.columns) {
                for (row, value) in owned.values.iter().enumerate() {
                    let nan = matches!(value, Owned::Real(real) if real.is_nan());
                    assert_eq!(column.get(row), if nan { Value::Null } else { value.value() });
                }
            }
        });
    }
    compare(&table.ddl(), page_bytes, capacity, &rows);
}

fn capacity() -> impl Strategy<Value = u32> {
    prop_oneof![Just(1), Just(2), 1..20u32, Just(100)]
}

proptest! {
    #![proptest_config(cases(700))]

    #[test]
    fn both_encoders_make_the_same_pages_of_random_rows(
        table in table(40, 4, 300), page_bytes in page_bytes(), capacity in capacity(),
    ) {
        compare_random(&table, page_bytes, capacity);
    }

    #[test]
    fn both_encoders_make_the_same_pages_of_full_batches_of_narrow_tables(
        table in table(4, 6, 1024), page_bytes in page_bytes(), capacity in capacity(),
    ) {
        compare_random(&table, page_bytes, capacity);
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn both_encoders_make_the_same_pages_of_tables_of_up_to_300_columns(
        table in table(300, 2, 40), page_bytes in page_bytes(), capacity in capacity(),
    ) {
        compare_random(&table, page_bytes, capacity);
    }
}

/// Returns one batch of `columns` columns that `make` makes.
fn batch(rows: usize, columns: usize, make: impl FnMut(usize) -> OwnedColumn) -> (OwnedBatch, Vec<i64>) {
    (OwnedBatch { rows, columns: (0..columns).map(make).collect() }, (1..=rows as i64).collect())
}

fn untyped(columns: usize) -> String {
    let columns: Vec<String> = (0..columns).map(|index| format!("c{index}")).collect();
    format!("CREATE TABLE t ({})", columns.join(", "))
}

#[test]
fn both_encoders_give_record_headers_around_127_bytes_and_of_2000_columns_the_same_size() {
    for columns in [1, 125, 126, 127, 128, 129, 2000] {
        for wide in [false, true] {
            let ints = |index: usize| {
                OwnedColumn::ints((0..20).map(|row| if wide { index as i64 * 77 + row } else { 1 }).collect())
            };
            compare(&untyped(columns), 4096, 3, &[batch(20, columns, ints)]);
        }
    }
}

#[test]
fn both_encoders_make_the_same_pages_of_rows_that_are_almost_all_null() {
    for columns in (1..40).chain(110..180) {
        for widest in [1, 300] {
            let some = |row: usize| if row.is_multiple_of(3) { Owned::Int(widest) } else { Owned::Null };
            let values = |index: usize| match index {
                0 => (0..40).map(some).collect(),
                _ => vec![Owned::Null; 40],
            };
            let rows = batch(40, columns, |index| OwnedColumn::of(values(index)));
            compare(&untyped(columns), 512, 9, &[rows]);
        }
    }
}

#[test]
fn both_encoders_make_the_same_pages_of_payloads_around_the_overflow_limit() {
    for page_bytes in [512, 1024, 4096, 65536_u32] {
        for capacity in [1, 2, 7] {
            let around = page_bytes as usize - 35 - 8..=page_bytes as usize - 35 + 8;
            let lengths: Vec<usize> = around.clone().chain(around.rev()).chain([0, 1, 2]).collect();
            let values: Vec<Owned> = lengths.iter().map(|&len| Owned::Blob(vec![7; len])).collect();
            let rows = batch(lengths.len(), 1, |_| OwnedColumn::of(Vec::clone(&values)));
            compare(&untyped(1), page_bytes, capacity, &[rows]);
        }
    }
}

#[test]
fn both_encoders_make_the_same_pages_of_rows_of_one_size_that_all_overflow() {
    let mut random = crate::support::Random(5);
    for page_bytes in [512, 4096] {
        for _ in 0..50 {
            let mut budget = 1 << 20;
            let rows = batch(20, 2, |_| {
                OwnedColumn::random(&mut random, Takes::Blobs, 20, page_bytes as usize * 3, &mut budget)
            });
            compare(&untyped(2), page_bytes, 4, &[rows]);
        }
    }
}

/// Returns row, column and message of every refused row.
fn refused(encoder: &mut Encoder, batch: &OwnedBatch, chunks: &mut Recycled) -> Vec<(usize, usize, String)> {
    let before = chunks.chunk.rows();
    match batch.with(|batch| encoder.encode(batch, 1, None, chunks)) {
        Ok(_) => Vec::new(),
        Err(Refused::Rows(rows)) => {
            assert_eq!(chunks.chunk.rows(), before, "nothing of a refused batch is taken");
            let told = |RefusedRow { row, column, error }: RefusedRow| (row, column, error.without_hint());
            rows.into_iter().map(told).collect()
        }
        Err(stop) => panic!("{stop:?}"),
    }
}

fn awkward() -> impl Strategy<Value = Owned> {
    let texts =
        ["7", "007", "x", "", "1.5", "1e400", "-1e-400", "12345678901234567890", "9007199254740993.0", "5.0"];
    prop_oneof![
        1 => Just(Owned::Null),
        1 => Just(Owned::Int(3)),
        6 => prop::sample::select(texts.to_vec()).prop_map(|text| Owned::Text(text.into())),
    ]
}

proptest! {
    #![proptest_config(cases(700))]

    /// A batch is refused for the rows that would be refused one by one, for the same reasons.
    #[test]
    fn the_encoder_refuses_the_same_rows_in_a_batch_as_alone(
        rows in prop::collection::vec((awkward(), awkward(), awkward(), awkward()), 1..60),
        strict: bool,
        lossless: bool,
    ) {
        let strict = if strict { "STRICT" } else { "" };
        let table =
            schema_table(&format!("CREATE TABLE t (a INT NOT NULL, b REAL, c TEXT NOT NULL, d INTEGER) {strict}"));
        let conversions = if lossless { Coercion::Lossless } else { Coercion::All };
        let geometry = Geometry::new(PageSize::new(4096).unwrap(), 0).unwrap();
        let mut encoder = Encoder::new(&table, geometry, conversions);
        let mut chunks = Recycled { chunk: Chunk::new(geometry, 9), finished: Vec::new() };
        let values: Vec<[Owned; 4]> = rows.into_iter().map(|(a, b, c, d)| [a, b, c, d]).collect();
        let batch_of = |values: &[[Owned; 4]]| {
            let column = |index: usize| OwnedColumn::of(values.iter().map(|row| row[index].clone()).collect());
            OwnedBatch { rows: values.len(), columns: (0..4).map(column).collect() }
        };
        let mut alone = Vec::new();
        for (row, values) in values.iter().enumerate() {
            for (_, column, error) in refused(&mut encoder, &batch_of(std::slice::from_ref(values)), &mut chunks) {
                alone.push((row, column, error));
            }
        }
        prop_assert_eq!(refused(&mut encoder, &batch_of(&values), &mut chunks), alone);
    }
}

#[test]
fn text_whose_conversion_to_a_number_loses_digits_is_refused_unless_losses_are_allowed() {
    let table = schema_table("CREATE TABLE t (id INTEGER PRIMARY KEY, a NUMERIC)");
    let geometry = Geometry::new(PageSize::new(4096).unwrap(), 0).unwrap();
    let mut chunks = Recycled { chunk: Chunk::new(geometry, 9), finished: Vec::new() };
    let text = |text: &str| Owned::Text(text.into());
    let columns = vec![
        OwnedColumn::of(vec![text("1"), text("2"), text("9007199254740993.0"), text("x"), text("8")]),
        OwnedColumn::of(vec![
            text("1e400"),
            text("1.0"),
            text("1"),
            text("1e400"),
            text("-9223372036854775809"),
        ]),
    ];
    let batch = OwnedBatch { rows: 5, columns };
    let mut lossless = Encoder::new(&table, geometry, Coercion::Lossless);
    let told = refused(&mut lossless, &batch, &mut chunks);
    let expected = [
        (0, 1, "'1e400' in column a is beyond the largest float, and would become infinity"),
        (2, 0, "'9007199254740993.0' in column id would be rounded to 9007199254740992"),
        (3, 0, "'x' in column id, which is INTEGER PRIMARY KEY"),
        (4, 1, "'-9223372036854775809' in column a has more than 64 bits, and would become a float"),
    ];
    assert_eq!(told, expected.map(|(row, column, message)| (row, column, message.to_owned())));
    let mut all = Encoder::new(&table, geometry, Coercion::All);
    let told = refused(&mut all, &batch, &mut chunks);
    assert_eq!(told.iter().map(|(row, ..)| *row).collect::<Vec<_>>(), [3]);
}
