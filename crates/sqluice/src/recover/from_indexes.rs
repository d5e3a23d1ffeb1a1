//! Writes tables with the values of lost rows that are in entries of indexes.

use sqluice_core::batch::Value;
use sqluice_core::error::Result;
use sqluice_core::progress::Context;
use sqluice_core::schema::quoted;
use sqluice_core::sqlite_error::failed;
use sqluice_reader::salvage::PageRows;

use super::found::Found;
use super::indexed::{IndexFields, IndexedRows};
use super::insert::{Bound, insert_row};
use super::layout::free_column;

/// Creates the table `table` for the lost rows `rows`. The values of one row come from the entries of all indexes that have its rowid.
pub(super) fn write(
    connection: &rusqlite::Connection,
    found: &Found,
    (table, rows): (&str, &IndexedRows),
    context: &Context<'_>,
) -> Result<()> {
    let cannot = |error| failed(error, "write the columns of lost rows");
    let names: Vec<String> = rows.columns.iter().map(|(name, _)| name.clone()).collect();
    let rowid = quoted(&free_column(&names, "source_rowid"));
    let table = quoted(table);
    let declared: Vec<String> =
        rows.columns.iter().map(|(name, declared)| format!(", {} {declared}", quoted(name))).collect();
    connection
        .execute_batch(&format!("CREATE TABLE {table} ({rowid} INTEGER PRIMARY KEY{})", declared.concat()))
        .map_err(cannot)?;
    let mut reader = PageRows::default();
    for IndexFields { witness, entries, columns } in &rows.indexes {
        let witness = &found.finding.witnesses[*witness];
        let names: Vec<String> =
            columns.iter().flatten().map(|column| quoted(&rows.columns[*column].0)).collect();
        let listed = names.iter().fold(rowid.clone(), |listed, name| format!("{listed}, {name}"));
        let set: Vec<String> = names.iter().map(|name| format!("{name} = excluded.{name}")).collect();
        let upsert = match set.is_empty() {
            true => "ON CONFLICT DO NOTHING".to_owned(),
            false => format!("ON CONFLICT DO UPDATE SET {}", set.join(", ")),
        };
        for &page in &witness.pages {
            context.cancel.check()?;
            reader.read(&found.file, &found.finding.chains, page, |entry| {
                let Some(of_row) = witness.rowid_of(entries, &entry) else { return Ok(()) };
                let Ok(values) = sqluice_format::record::decode(entry.record) else { return Ok(()) };
                let values = values.into_iter().zip(columns).filter(|(_, column)| column.is_some());
                let values = values.map(|(value, _)| Bound::of(value, found.file.encoding));
                let values: Vec<Bound<'_>> =
                    std::iter::once(Bound::Plain(Value::Int(of_row))).chain(values).collect();
                insert_row(connection, (&table, &listed), &values, &upsert).map_err(cannot)
            })?;
        }
    }
    Ok(())
}
