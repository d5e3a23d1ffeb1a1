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

/// Returns the first rows of each masked table, `count` at most, without the columns that SQLite computes.
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
        let masking = Masking::new(masks, table, false);
        let columns: Vec<String> =
            masking.read.iter().map(|&column| table.columns[column].name.clone()).collect();
        let selection = Selection::default().columns(columns.clone()).limit(count);
        let mut source = Rows::of_table(snapshot, schema, &table.name, &selection)?
            .with_secret_keys()
            .source(PART_BYTES, cancel)?;
        let mut rows: Vec<Vec<PreviewValue>> = Vec::new();
        let mut spaces = Spaces::new();
        while let Some(mut part) = source.next_part()? {
            let mut take = |batch: &Batch<'_>| -> Result<(), Refused> {
                masking.apply(batch, &mut spaces, |batch| {
                    for row in 0..batch.rows {
                        let value = |column: &usize| PreviewValue::from(batch.columns[*column].get(row));
                        rows.push(masking.read.iter().map(value).collect());
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
