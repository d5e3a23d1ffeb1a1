//! Previews the first rows of masked tables, with their new values.

use sqluice_core::batch::Batch;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::source::Refused;
use sqluice_generator::{Preview, PreviewValue};
use sqluice_reader::rows::{PART_BYTES, Rows, Selection};

use super::super::Opened;
use super::columns::Masks;
use super::source::{Masking, Spaces};
use super::tables::rowid_column;

/// Returns the first copied rows of each masked table, `count` at most, without the columns that SQLite computes.
pub(in crate::copy) fn preview(
    opened: &Opened,
    masks: &Masks,
    count: u64,
    cancel: &Cancel,
) -> Result<Vec<Preview>> {
    let Opened { snapshot, schema, .. } = opened;
    let mut previews = Vec::new();
    for (&number, masks) in &masks.tables {
        let table = &schema.tables[number];
        let left_out = opened.subset.as_ref().and_then(|subset| subset.of(number).cloned());
        // The rowid is read only to leave out rows, and is not shown.
        let rowid = rowid_column(table).filter(|_| left_out.is_some());
        let limit = left_out.is_none().then_some(count);
        let masking = Masking { left_out, ..Masking::new(masks, table, rowid.is_some()) };
        let shown = masking.read.iter().filter_map(|&column| Some(table.columns.get(column)?.name.clone()));
        let columns: Vec<String> = shown.collect();
        let read: Vec<String> = columns.iter().cloned().chain(rowid.map(str::to_owned)).collect();
        let selection = Selection::default().columns(read).limit(limit);
        let mut source = Rows::of_table(snapshot, schema, &table.name, &selection)?
            .with_secret_keys()
            .source(PART_BYTES, cancel)?;
        let mut rows: Vec<Vec<PreviewValue>> = Vec::new();
        let mut spaces = Spaces::new();
        while let Some(mut part) = source.next_part()? {
            if rows.len() as u64 >= count {
                break;
            }
            let mut take = |batch: &Batch<'_>| -> Result<(), Refused> {
                masking.apply(batch, &mut spaces, |batch| {
                    for row in 0..batch.rows {
                        let value = |column: &usize| PreviewValue::from(batch.columns[*column].get(row));
                        rows.push(masking.read[..columns.len()].iter().map(value).collect());
                    }
                    Ok(())
                })
            };
            part.decode(&mut take)?;
        }
        rows.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        previews.push(Preview::new(&*table.name, columns, rows));
    }
    Ok(previews)
}
