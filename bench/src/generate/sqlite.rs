//! The laps with which `sqluice generate` is compared: prepared INSERTs of the rows of the preset `shop`.

use std::path::Path;

use anyhow::{Context, ensure};
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};
use sqluice::batch::{Batch, Value};
use sqluice::r#gen::{GeneratedTable, Spec};
use sqluice::generate::Preset;
use sqluice::schema::{Schema, Table};
use sqluice::source::Source;

use crate::UNSAFE_PRAGMAS;
use crate::db::{close, open};

/// The seed that `sqluice generate` uses by default.
const SEED: u64 = 1;

/// Inserts the rows of the preset in one transaction, then creates the indexes. With `like`, the write is durable and foreign keys are
/// checked, as in `sqluice generate`.
pub(crate) fn insert(file: &Path, orders: u64, like: bool) -> anyhow::Result<()> {
    let (preset, asked) = (Preset::find("shop")?, [(None, orders)]);
    let schema = preset.schema()?;
    let (spec, rows) = (Spec::new(&schema)?, preset.rows(&asked));
    let db = open(file, if like { "" } else { UNSAFE_PRAGMAS })?;
    db.pragma_update(None, "foreign_keys", like)?;
    // SQLite sorts index entries in files with two threads, as in bench/index: this is faster than in memory.
    db.execute_batch("PRAGMA temp_store = FILE; PRAGMA cache_size = -200000; PRAGMA threads = 2; BEGIN")?;
    let counted = |table: &Table| {
        let named = rows.iter().find(|(name, _)| name.as_deref() == Some(&table.name));
        named.map(|(_, rows)| *rows).with_context(|| format!("the preset counts {}", table.name))
    };
    let all = schema.tables.iter().map(counted).collect::<anyhow::Result<Vec<u64>>>()?;
    for ((table, spec), rows) in schema.tables.iter().zip(&spec.tables).zip(&all) {
        db.execute_batch(&table.sql)?;
        fill(&db, table, spec.source_among(SEED, &all, 0, *rows)?, *rows)?;
    }
    for sql in indexes(&schema) {
        db.execute_batch(sql)?;
    }
    db.execute_batch("COMMIT")?;
    close(db, file)
}

fn indexes(schema: &Schema) -> impl Iterator<Item = &str> {
    let all = schema.tables.iter().flat_map(|table| &table.indexes);
    all.filter_map(|index| index.sql.as_deref())
}

fn fill(db: &Connection, table: &Table, mut source: GeneratedTable, rows: u64) -> anyhow::Result<()> {
    // The columns that can be inserted: not those that SQLite computes.
    let given: Vec<usize> =
        (0..table.columns.len()).filter(|&column| table.columns[column].generated.is_none()).collect();
    let names: Vec<&str> = given.iter().map(|&column| &*table.columns[column].name).collect();
    let places = vec!["?"; given.len()].join(", ");
    let mut insert =
        db.prepare(&format!("INSERT INTO {} ({}) VALUES ({places})", table.name, names.join(", ")))?;
    let (mut failed, mut inserted) = (None, 0);
    while let Some(mut part) = source.next_part()? {
        part.decode(&mut |batch: &Batch<'_>| {
            inserted += batch.rows as u64;
            if failed.is_none() {
                failed = insert_batch(&mut insert, batch, &given).err();
            }
            Ok(())
        })?;
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    ensure!(inserted == rows, "{inserted} rows of {} instead of {rows}", table.name);
    Ok(())
}

fn insert_batch(
    insert: &mut rusqlite::Statement<'_>,
    batch: &Batch<'_>,
    given: &[usize],
) -> rusqlite::Result<()> {
    for row in 0..batch.rows {
        for (place, &column) in given.iter().enumerate() {
            let value = match batch.columns[column].get(row) {
                Value::Null => ValueRef::Null,
                Value::Int(int) => ValueRef::Integer(int),
                Value::Real(real) => ValueRef::Real(real),
                Value::Text(text) => ValueRef::Text(text),
                Value::Blob(blob) => ValueRef::Blob(blob),
            };
            insert.raw_bind_parameter(place + 1, ToSqlOutput::Borrowed(value))?;
        }
        insert.raw_execute()?;
    }
    Ok(())
}
