//! Writes record batches as Parquet and Arrow IPC files, loads them, and shows the stored values.

use std::fs::File;
use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use rusqlite::Connection;
use rusqlite::types::Value;
use sqluice::load::Load;

use super::files::Home;
use super::load::{run, shown};

/// The kind of file that record batches are written to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Container {
    Parquet,
    File,
    Stream,
}

pub(crate) const ALL: [Container; 3] = [Container::Parquet, Container::File, Container::Stream];

impl Container {
    /// Writes the batches. In Parquet, a row group has `group_rows` rows.
    pub(crate) fn write(self, path: &Path, batches: &[RecordBatch], group_rows: usize) {
        let file = File::create(path).unwrap();
        let schema = batches[0].schema();
        match self {
            Container::Parquet => {
                let properties = WriterProperties::builder()
                    .set_max_row_group_row_count(Some(group_rows))
                    .set_data_page_row_count_limit(7)
                    .set_write_batch_size(5)
                    .set_compression(parquet::basic::Compression::SNAPPY)
                    .build();
                let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.close().unwrap();
            }
            Container::File => {
                let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &schema).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.finish().unwrap();
            }
            Container::Stream => {
                let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, &schema).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.finish().unwrap();
            }
        }
    }
}

pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Returns the values of a query with their storage classes, as text.
pub(crate) fn told(db: &Connection, sql: &str) -> Vec<String> {
    let mut statement = db.prepare(sql).unwrap();
    let width = statement.column_count();
    let value = |value: Value| match value {
        Value::Null => "-".to_owned(),
        Value::Integer(int) => int.to_string(),
        Value::Real(real) => format!("{real:?}"),
        Value::Text(text) => format!("'{text}'"),
        Value::Blob(blob) => format!("{blob:02x?}"),
    };
    let rows = statement.query_map([], |row| {
        Ok((0..width).map(|column| value(row.get_unwrap(column))).collect::<Vec<_>>().join(" "))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

pub(crate) fn declared(db: &Connection) -> Vec<String> {
    told(db, "SELECT name || ' ' || type FROM pragma_table_info('x')")
}

/// Loads `x.dat` into table x.
pub(crate) fn load(home: &Home, with: impl FnOnce(Load) -> Load) -> Result<Connection, String> {
    let load = Load::new(home.path("x.db"), [home.path("x.dat")]).table("x");
    run(with(load)).map(|_| Connection::open(home.path("x.db")).unwrap()).map_err(|error| shown(&error, home))
}
